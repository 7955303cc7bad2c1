#pragma once

#include <string>

#include "calibration/capture/bench/nccl_id.hpp"

namespace gradwire::calibration {

/// Which process of a job this is, as its launcher says: torchrun (RANK, WORLD_SIZE, LOCAL_RANK),
/// Open MPI (OMPI_COMM_WORLD_RANK, ...), Slurm (SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID).
struct ProcessPlace {
  int rank = 0;
  int processes = 1;
  int local_rank = 0;
};
/// @throws UsageError where what a launcher says is not whole or contradicts itself.
[[nodiscard]] ProcessPlace process_place();

/// Brings what rank 0 made to the other processes of the job.
class Rendezvous {
 public:
  /// @param way  "file:PATH", a path that all see and where nothing is yet, or "tcp" (the address
  ///             MASTER_ADDR; the port after MASTER_PORT, which torchrun's own store listens on),
  ///             "auto": tcp where MASTER_ADDR is set.
  /// @throws UsageError for another, or with several processes and no address.
  Rendezvous(const std::string& way, const ProcessPlace& place);

  /// The id that rank 0 made, on the first `takers` processes; call it on all of those, in the same
  /// order. @throws std::runtime_error when it does not come within a minute.
  [[nodiscard]] NcclId share(const NcclId& id, int takers);

 private:
  [[nodiscard]] NcclId share_by_file(const NcclId& id);
  [[nodiscard]] NcclId share_by_tcp(const NcclId& id, int takers) const;

  ProcessPlace place_;
  std::string path_;     ///< of the file; "" for TCP
  std::string address_;  ///< of TCP
  std::string port_;
  int shared_ = 0;
};

}  // namespace gradwire::calibration
