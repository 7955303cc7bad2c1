#pragma once

#include <vector>

#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/bench/nccl_api.hpp"

namespace gradwire::calibration {

/// A communicator's ranks of this process: one for each GPU, or the process's own. The buffers hold
/// ones.
class RankGroup {
 public:
  struct Rank {
    int rank = 0;
    int device = 0;
    NcclComm comm = nullptr;
    Stream stream;
    DeviceArray<float> send;
    DeviceArray<float> receive;
    StreamTimer timer;
  };

  /// @param first  rank of the first of `devices`; @param elements  of each buffer
  RankGroup(const NcclApi& nccl, const NcclId& id, int ranks, int first,
            const std::vector<int>& devices, std::size_t elements);
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  RankGroup(RankGroup&&) = delete;
  RankGroup& operator=(RankGroup&&) = delete;
  ~RankGroup();  ///< gives the communicators up, with whatever is under way

  [[nodiscard]] const NcclApi& nccl() const { return nccl_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::vector<Rank>& local() { return local_; }
  void wait() const;

  /// The largest of each number over all processes.
  [[nodiscard]] std::vector<double> largest(std::vector<double> values);
  /// The machine of each rank, from 0 in the order in which they come.
  [[nodiscard]] std::vector<int> machines();

 private:
  const NcclApi& nccl_;
  int ranks_;
  std::vector<Rank> local_;
};

}  // namespace gradwire::calibration
