#pragma once

#include <map>
#include <vector>

#include "strategies/horovod_negotiation.hpp"

namespace gradwire {

/// What a response does, one operation after the other, each when the one before it has ended.
class HorovodReductions {
 public:
  /// @throws SimulationError for Adasum on a number of machines that is no power of two.
  HorovodReductions(const HorovodOptions& options, const JobView& job);

  /// @param requests  of one kind, not empty.
  /// @param stream    NCCL stream, from 1.
  ///
  /// flat:         copy in, all-reduce, copy out and average.
  /// torus:        copy in, reduce-scatter in the machine, all-reduce of 1/g across, all-gather.
  /// hierarchical: copy in, reduce-scatter, 1/g to the host, ring all-reduce across on the CPU,
  ///               back to the GPU, all-gather in the machine. On machines of different sizes: a
  ///               reduce to one GPU a machine, all of it to the host, and a broadcast.
  /// adasum:       as hierarchical, with vector halving and distance doubling across.
  /// gather:       copy in, all-gather, copy out.
  /// Copies only with more than one tensor; g is the number of GPUs a machine. With one machine
  /// only adasum differs from flat (operations.cc: "Ignore if Horovod is running on a single
  /// node").
  ///
  /// Source: Horovod ops/nccl_operations.cc:307-790, ops/adasum/adasum.h,
  /// ops/adasum_gpu_operations.cc.
  [[nodiscard]] Operations stages(std::span<const HorovodRequest> requests, int stream) const;

  /// The background thread waits for the last stage.
  [[nodiscard]] bool blocks() const;

  [[nodiscard]] std::vector<CollectiveUse> collectives() const;
  [[nodiscard]] std::vector<Exchange> exchanges() const;

  /// Sizes are rounded up to this many bytes in the fusion buffer.
  [[nodiscard]] std::int64_t rounding() const;

 private:
  void reduce(Operations& stages, Bytes size, const Collective& common) const;
  void across_hosts(Operations& stages, Bytes size, const Collective& common) const;
  [[nodiscard]] DeviceWork copy(Bytes size, int tensors, const char* label) const;
  [[nodiscard]] std::vector<int> leaders() const;  ///< the first rank of each machine
  [[nodiscard]] Exchange host_ring() const;
  [[nodiscard]] Exchange host_halving() const;

  HorovodOptions options_;
  JobView job_;
  HorovodReduction reduction_;
  std::map<int, std::vector<int>> machines_;  ///< ranks by machine
  int local_ranks_ = 1;                       ///< of the machine that has most
  bool homogeneous_ = true;                   ///< every machine has as many ranks
};

}  // namespace gradwire
