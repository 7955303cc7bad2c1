#pragma once

#include <span>
#include <vector>

#include "strategies/horovod/horovod_gathers.hpp"
#include "strategies/horovod/horovod_negotiation.hpp"

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
  /// gather:       copy in, all-gather, copy out; or HorovodGathers'.
  /// Copies only with more than one tensor; g is the number of GPUs a machine. With one machine
  /// only adasum differs from flat (operations.cc: "Ignore if Horovod is running on a single
  /// node").
  ///
  /// A tensor's place in the fusion buffer is a multiple of rounding(), and what of a fused buffer
  /// is reduced in the machine is padded to a multiple of 64 g elements. What g does not divide of
  /// a single tensor is reduced to one GPU of the machine, goes across with that one's part, and is
  /// broadcast in the machine. The parts of the other GPUs are taken to be as large as that one's.
  ///
  /// Source: Horovod ops/nccl_operations.cc:307-790, ops/gpu_operations.cc, ops/adasum/adasum.h,
  /// ops/adasum_gpu_operations.cc.
  [[nodiscard]] Operations stages(std::span<const HorovodRequest> requests, int stream) const;

  /// The background thread waits for the last stage of responses of this kind.
  [[nodiscard]] bool blocks(RequestKind kind = RequestKind::reduce) const;

  [[nodiscard]] std::vector<CollectiveUse> collectives() const;
  [[nodiscard]] std::vector<Exchange> exchanges() const;

  /// Sizes are rounded up to this many bytes in the fusion buffer.
  [[nodiscard]] std::int64_t rounding() const;

  /// Of what is fused: fusion_threshold, on equal machines the next multiple of what divides evenly
  /// among a machine's ranks whatever the data type. Source: controller.cc,
  /// TensorFusionThresholdBytes.
  [[nodiscard]] Bytes threshold() const;

 private:
  /// How a buffer is reduced in a machine.
  struct Split {
    Bytes scattered{0};  ///< reduce-scattered: what g divides
    Bytes rest{0};       ///< reduced to one GPU
    Bytes part{0};       ///< of a GPU that takes both
  };
  [[nodiscard]] Split split_of(Bytes buffer, bool fused) const;
  void reduce(Operations& stages, Bytes buffer, bool fused, const Collective& common) const;
  static void within(Operations& stages, const Split& split, const Collective& common,
                     CollectiveKind scattered, CollectiveKind rest);
  void across_hosts(Operations& stages, Bytes part, const Collective& common) const;
  [[nodiscard]] Operations gather(Bytes size, int tensors, const Collective& common) const;
  [[nodiscard]] static DeviceWork copy(Bytes size, std::int64_t tensors, bool batched,
                                       const char* label);
  [[nodiscard]] std::vector<Exchange> host_exchanges() const;
  [[nodiscard]] Exchange host_ring() const;
  [[nodiscard]] Exchange host_halving() const;

  HorovodOptions options_;
  JobView job_;
  HorovodReduction reduction_;
  HorovodMachines machines_;
  HorovodGathers gathers_;
  bool remainders_ = false;  ///< machines do not divide some tensors evenly
};

}  // namespace gradwire
