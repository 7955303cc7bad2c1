#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/cost/pattern_facts.hpp"

namespace gradwire {

/// Values and sources: profiles/libraries/gloo.yaml.
struct GlooConstants {
  Seconds step;  ///< hand-over between Gloo's threads in a step
  /// Worker threads for each device: a further collective waits. They share the connections fairly
  /// here; Gloo serves their segments in turn, so that a small collective beside a large one gets
  /// less.
  int worker_threads = 1;
  Bytes segment_max;
  /// At which a process passes what it sends to others of its machine through the kernel, while as
  /// much comes in: Gloo has one thread in each for the copies out of and into the loopback.
  BytesPerSecond loopback;
};

struct GlooOptions {
  GlooConstants constants;
  BytesPerSecond sum_rate;  ///< HostCpu's
  /// Tensors live on the GPU, and are copied to host memory and back; false: they are in it.
  bool tensors_on_gpu = true;
};

/// Gloo 0.5 (20220518) as ProcessGroupGloo of PyTorch 1.13 uses it: over TCP, one connection a pair
/// of ranks, on tensors in host memory; a GPU's tensors are copied to it first and back afterwards.
///
/// Ring for all_reduce (never another algorithm: ProcessGroupGloo leaves the choice to Gloo, which
/// takes the ring), all_gather and reduce; a binomial tree for broadcast. Source:
/// gloo/allreduce.cc, gloo/allgather.cc, gloo/reduce.cc, gloo/broadcast.cc.
///
/// The size is cut into segments of at most `segment_max`, k for each rank's part, at least two;
/// two are in flight. A step of the ring, which moves one part, takes
///   max(k t, k/2 (t + a)),  t = a segment on the wire, or in a core that adds it up if that takes
///                               longer; a = latency of the links + step:
/// latency is hidden as soon as a segment takes longer than it. Where ranks of one machine meet,
/// what each sends goes through the kernel's loopback, too, beside the links. Each pass around the
/// ring ends with min(a, t) more.
///
/// All-gather of two ranks: (k + 1) t + 2 a. Each posts "ready to receive" a half behind having
/// sent its own (gloo/allgather.cc, transport/tcp/pair.cc); the one that enters later finds the
/// other ready, so that its notice stands in the connection behind its data, and the other's halves
/// follow one half later. Two that enter within a notice's latency of each other take k t half of
/// the times, which ranks of a job do not (results/reference/collectives.yaml).
class GlooLibrary final : public CollectiveLibrary {
 public:
  /// REQUIRES: not null; a segment_max and a loopback above 0.
  GlooLibrary(std::shared_ptr<const Cluster> cluster, const GlooOptions& options);

  /// @throws SimulationError for what ProcessGroupGloo does not have, and as plan_rank_ring.
  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;
  [[nodiscard]] int concurrent_collectives() const override {
    return options_.constants.worker_threads;
  }
  [[nodiscard]] bool on_gpu() const override { return false; }

 private:
  std::shared_ptr<const Cluster> cluster_;
  BytesPerSecond copy_rate_;  ///< slowest_host_copy
  GlooOptions options_;
  KnownFacts facts_;
};

}  // namespace gradwire
