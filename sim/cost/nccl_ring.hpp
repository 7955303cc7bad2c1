#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "sim/core/cluster.hpp"
#include "sim/cost/collective_cost.hpp"
#include "sim/cost/nccl_constants.hpp"

namespace gradwire {

struct NcclVersion {
  int major = 2;
  int minor = 8;
  auto operator<=>(const NcclVersion&) const = default;
};

/// NCCL's rings as NCCL itself models them, plus the launch: for each protocol
/// t = launch + latency + size / bandwidth; the protocol of least time is taken.
///
/// All-reduce on n ranks and m machines: latency = base + 2(n-m) local hops + 2(m-1) network hops;
/// broadcast: base + n of its slowest hops. Bandwidth = what the pattern's busiest link gives,
/// times the protocol's efficiency.
///
/// An all-reduce is priced by start-up and hops. The engine charges the links' own latency as well,
/// so hops are priced less that latency, and a ring's network hops are spread evenly over its
/// steps: alone, the engine's total is this model's unless the links are slower than NCCL takes
/// hops to be. A broadcast is priced as a whole (`alone`): the engine charges a latency a piece,
/// NCCL a rank.
///
/// LL128 is considered from 2.5 on, where all local hops are NVLink and no hop crosses from one
/// processor to another. (NCCL: from 2.5 on, on NVLink with at most PCIe switches between GPU and
/// NIC, on GPUs of compute capability 7.0 and 8.0.)
class NcclRing final : public CostModel {
 public:
  /// @param cluster  whose links the patterns use; must outlive the model.
  explicit NcclRing(const Cluster& cluster, NcclVersion version = {},
                    const NcclRingConstants& constants = nccl_2_8_rings);

  [[nodiscard]] CollectiveCost price(const Pattern& pattern, Bytes size) const override;

  /// Time of the collective alone by this model.
  [[nodiscard]] Seconds time_alone(const Pattern& pattern, Bytes size) const;

 private:
  /// What the model must know of a pattern.
  struct Facts {
    Seconds per_byte;  ///< of the collective's size, on the busiest link
    bool allows_ll128 = true;
    bool has_pcie_hop = false;
    HopTimes link_latency{};  ///< the largest of each kind
  };
  struct Estimate {
    const NcclProtocol* protocol = nullptr;
    Seconds startup;
    Seconds hop;  ///< of each step of a ring, the links' latency in it
    double efficiency = 1;
    Seconds time;
  };

  [[nodiscard]] Facts examine(const Pattern& pattern) const;
  [[nodiscard]] Facts facts_of(const Pattern& pattern) const;
  [[nodiscard]] Estimate estimate(const NcclProtocol& protocol, const Pattern& pattern,
                                  const Facts& facts, Bytes size) const;
  [[nodiscard]] Estimate best(const Pattern& pattern, const Facts& facts, Bytes size) const;

  const Cluster& cluster_;
  NcclVersion version_;
  NcclRingConstants constants_;
  /// By Pattern::key: examining 65 536 GPUs takes milliseconds, and a job asks for each tensor.
  mutable std::unordered_map<std::uint64_t, Facts> known_;
};

}  // namespace gradwire
