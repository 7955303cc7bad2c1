#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/host_cpu.hpp"
#include "sim/cost/collective_library.hpp"
#include "sim/cost/mpi_decisions.hpp"
#include "sim/cost/pattern_facts.hpp"

namespace gradwire {

/// Values, with what each was fitted on: profiles/libraries/mpi.yaml. The runs of 4 and 8 nodes say
/// that `entry` is paid once and not in each exchange: one, two, three exchanges of a few bytes
/// take 32, 50, 69 us. What misses: an eager message longer than a frame comes on 4 nodes as fast
/// as a shorter one, on 8 nodes later than on 2.
struct MpiConstants {
  Seconds entry;
  Seconds long_message;   ///< interrupts held back, it seems
  Seconds copy_per_byte;  ///< into the kernel and out of it
  Bytes frame;            ///< payload of an Ethernet frame
  Bytes eager_max;        ///< btl_tcp_eager_limit
  Bytes kernel_segment;   ///< what TCP takes, and hands on, at once
  Bytes ring_segment;     ///< of segmented_ring
};

struct MpiOptions {
  MpiConstants constants;
  HostCpu cpu;
  MpiDecisions decisions = MpiDecisions::since_4_1;
  /// Of all_reduce, whatever the size: a name of mpi_algorithm; empty: the fixed decision.
  std::string all_reduce_algorithm;
  /// Tensors live on the GPU, and are copied to host memory and back; false: they are in it.
  bool tensors_on_gpu = true;
};

/// Open MPI's coll/tuned over btl/tcp, on tensors in host memory; a GPU's tensors are copied to it
/// first and back afterwards. One collective at a time.
///
/// Beside its bytes on the links a collective costs `entry`, and a message of m bytes
///   `long_message` if it is longer than `frame` + c * `copy_per_byte`
///   + one more round trip from `eager_max` on (rendezvous),
/// and m / sum_rate (HostCpu) where it is added up at the receiver; messages of a step overlap,
/// steps do not. segmented_ring adds up a segment while the next one comes.
///
/// c = m inside a machine, where a core copies it through shared memory. Between machines it is
/// min(m, `kernel_segment`): the copies of a first segment follow each other, into the kernel and
/// out of it, those of later ones pass while the wire carries the others (and what
/// they carry at most is the link's `connection_bandwidth`).
///
/// Two ranks of two machines that send to each other share one connection. In a rendezvous
/// (ompi/mca/pml/ob1: RNDV, then the receiver's PUT, then all data in place) the rank that asks
/// later has its own data before that request, so the directions follow each other, seen on the
/// wire in calibration/lab; here but for a first segment, whose copies hide behind the other's
/// data. Where other pairs use the same port they fill the gaps.
class MpiLibrary final : public CollectiveLibrary {
 public:
  /// REQUIRES: not null; the algorithm is empty or one of all_reduce_algorithms().
  MpiLibrary(std::shared_ptr<const Cluster> cluster, MpiOptions options);

  /// What can be forced (coll_tuned_allreduce_algorithm).
  [[nodiscard]] static std::vector<std::string> all_reduce_algorithms();

  /// @throws SimulationError as plan_collective.
  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;
  [[nodiscard]] bool on_gpu() const override { return false; }

 private:
  [[nodiscard]] std::string_view algorithm_of(const Pattern& pattern, Bytes size) const;

  std::shared_ptr<const Cluster> cluster_;
  BytesPerSecond copy_rate_;  ///< slowest_host_copy
  MpiOptions options_;
  KnownFacts facts_;
};

}  // namespace gradwire
