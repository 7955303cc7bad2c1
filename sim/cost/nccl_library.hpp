#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/cost/collective_library.hpp"
#include "sim/cost/nccl_constants.hpp"
#include "sim/cost/nccl_facts.hpp"
#include "sim/cost/nccl_tuner.hpp"

namespace gradwire {

/// What a user sets.
struct NcclOptions {
  NcclVersion version;
  NcclConstants constants;  ///< of that version
  NcclGpus gpus;            ///< a model that is missing here has no LL128 and no NVLS
  /// NCCL_ALGO, NCCL_PROTO: those that may be taken. Where they leave nothing for a collective, the
  /// ring and all its protocols, as in NCCL.
  std::vector<NcclAlgorithm> algorithms{nccl_algorithms.begin(), nccl_algorithms.end()};
  std::vector<NcclProtocol> protocols{nccl_protocols.begin(), nccl_protocols.end()};
  /// LL128 where NCCL would not take it by itself (NCCL_PROTO names it).
  bool forces_ll128 = false;
  std::optional<int> channels_min;  ///< NCCL_MIN_NCHANNELS
  std::optional<int> channels_max;  ///< NCCL_MAX_NCHANNELS
  bool collnet = false;             ///< the network's switches reduce
  int gpus_per_process = 1;         ///< that one process launches on, >= 1 (nccl-tests -g)
  /// Of the host in a call on an idle GPU: the caller waits for each collective before the next.
  Seconds host_per_call;
};

/// NCCL: algorithm and protocol of least time by its own cost model for that version, priced by
/// what runs take (nccl_measured_time), never below what the links allow.
///
/// CollectiveCost::uncontended holds the whole; contention and slower links act on top.
class NcclLibrary final : public CollectiveLibrary {
 public:
  /// REQUIRES: cluster is not null; no empty list in `options`.
  NcclLibrary(std::shared_ptr<const Cluster> cluster, NcclOptions options);

  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] std::vector<Pattern> plan_folded(CollectiveKind kind,
                                                 const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;

 private:
  struct Known {
    NcclFacts facts;
    NcclSystem system;   ///< as runs see it
    NcclSystem planned;  ///< as NCCL sees it
    double channel_share = 1;
  };
  /// One way to run a collective.
  struct Way {
    std::size_t pattern = 0;
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
  };

  using Planner = Pattern (*)(CollectiveKind, std::string_view, const Cluster&, const Placement&);
  [[nodiscard]] std::vector<Pattern> plan_by(Planner planner, CollectiveKind kind,
                                             const Placement& ranks) const;
  [[nodiscard]] std::vector<Pattern> plan_each(const std::vector<NcclAlgorithm>& algorithms,
                                               Planner planner, CollectiveKind kind,
                                               const Placement& ranks) const;
  /// REQUIRES: it was learnt.
  [[nodiscard]] const Known& known(const Pattern& pattern) const;
  /// Learns those that are not known.
  void learn_all(std::span<const Pattern> patterns) const;
  [[nodiscard]] Known learn(const Pattern& pattern) const;
  [[nodiscard]] bool allows(const NcclFacts& facts, NcclProtocol protocol) const;
  [[nodiscard]] std::vector<Way> ways(std::span<const Pattern> patterns) const;
  /// The one of `ways` that NCCL takes. REQUIRES: there is one.
  [[nodiscard]] Way taken(std::span<const Pattern> patterns, std::span<const Way> ways,
                          Bytes size) const;
  /// What a run takes, without the caller's own time.
  [[nodiscard]] Seconds time_of(std::span<const Pattern> patterns, const Way& way,
                                Bytes size) const;
  /// The way of least time, where that is less than the one taken.
  [[nodiscard]] std::optional<FasterWay> faster(std::span<const Pattern> patterns,
                                                std::span<const Way> ways, const Way& taken,
                                                Bytes size) const;
  [[nodiscard]] Way by_threshold(std::span<const Pattern> patterns, std::span<const Way> ways,
                                 Bytes size) const;
  [[nodiscard]] bool may_use_nvls(const Placement& ranks) const;

  std::shared_ptr<const Cluster> cluster_;
  NcclOptions options_;
  NcclConstants constants_;
  /// By Pattern::key: examining 65 536 GPUs takes milliseconds, and a job asks for each tensor.
  mutable std::unordered_map<std::uint64_t, Known> known_;
};

}  // namespace gradwire
