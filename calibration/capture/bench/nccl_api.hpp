#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>

#include "calibration/capture/bench/nccl_id.hpp"

namespace gradwire::calibration {

using NcclComm = struct NcclCommTag*;

/// What we use of NCCL, found at run time. Declared here (nccl.h of 2.7 to 2.28): results, types
/// and reductions are ints there.
class NcclApi {
 public:
  /// @throws DeviceError where no libnccl.so.2 is found, or one without send and receive (2.7).
  NcclApi();

  [[nodiscard]] std::string version() const;  ///< "2.28.9"
  [[nodiscard]] NcclId make_id() const;
  /// Several of one process stand in a group.
  [[nodiscard]] NcclComm init_rank(int ranks, const NcclId& id, int rank) const;
  void destroy(NcclComm comm) const;  ///< once its work has ended
  void abort(NcclComm comm) const;    ///< at any time

  void group_begin() const;
  void group_end() const;
  void group_give_up() const;  ///< ends a group after an error, whatever NCCL says
  /// Ends a group without running it: NCCL's estimate, in microseconds (from 2.22 on).
  [[nodiscard]] std::optional<double> group_simulate_end() const;

  // Of floats, summed where they are reduced; counts as NCCL counts them, root is rank 0.
  void all_reduce(const float* send, float* receive, std::size_t count, NcclComm comm,
                  cudaStream_t stream) const;
  void reduce_scatter(const float* send, float* receive, std::size_t receive_count, NcclComm comm,
                      cudaStream_t stream) const;
  void all_gather(const float* send, float* receive, std::size_t send_count, NcclComm comm,
                  cudaStream_t stream) const;
  void broadcast(const float* send, float* receive, std::size_t count, NcclComm comm,
                 cudaStream_t stream) const;
  void reduce(const float* send, float* receive, std::size_t count, NcclComm comm,
              cudaStream_t stream) const;
  void send(const float* from, std::size_t count, int peer, NcclComm comm,
            cudaStream_t stream) const;
  void receive(float* to, std::size_t count, int peer, NcclComm comm, cudaStream_t stream) const;
  /// The largest of each number over all ranks, in place.
  void all_reduce_max(double* values, std::size_t count, NcclComm comm, cudaStream_t stream) const;

 private:
  void check(int result, const char* call) const;

  int (*get_version_)(int*) = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*get_unique_id_)(NcclId*) = nullptr;
  int (*init_rank_)(NcclComm*, int, NcclId, int) = nullptr;
  int (*destroy_)(NcclComm) = nullptr;
  int (*abort_)(NcclComm) = nullptr;
  int (*group_start_)() = nullptr;
  int (*group_end_)() = nullptr;
  int (*simulate_end_)(void*) = nullptr;
  int (*all_reduce_)(const void*, void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
  int (*reduce_scatter_)(const void*, void*, std::size_t, int, int, NcclComm,
                         cudaStream_t) = nullptr;
  int (*all_gather_)(const void*, void*, std::size_t, int, NcclComm, cudaStream_t) = nullptr;
  int (*broadcast_)(const void*, void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
  int (*reduce_)(const void*, void*, std::size_t, int, int, int, NcclComm, cudaStream_t) = nullptr;
  int (*send_)(const void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
  int (*receive_)(void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
};

}  // namespace gradwire::calibration
