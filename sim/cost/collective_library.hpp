#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/placement.hpp"
#include "sim/cost/collective_cost.hpp"

namespace gradwire {

/// What a library decides for one collective.
struct CollectiveChoice {
  std::size_t pattern = 0;  ///< index among those that plan() gave
  CollectiveCost cost;
};

/// A collective library on one cluster: which algorithms it may take, which one it takes for a
/// size, and what that costs. Pure: the same question gives the same answer.
class CollectiveLibrary {
 public:
  virtual ~CollectiveLibrary() = default;

  /// One pattern for each algorithm that may be taken for some size, in the library's order.
  /// REQUIRES: at least two ranks. @return at least one.
  /// @throws SimulationError when the library has no way to do it among these ranks.
  [[nodiscard]] virtual std::vector<Pattern> plan(CollectiveKind kind,
                                                  const Placement& ranks) const = 0;

  /// The same, but a pattern may be folded (MachineFold), if the library prices such ones as whole.
  [[nodiscard]] virtual std::vector<Pattern> plan_folded(CollectiveKind kind,
                                                         const Placement& ranks) const {
    return plan(kind, ranks);
  }

  /// @param patterns  what plan() gave for this collective; @param size  >= 0.
  [[nodiscard]] virtual CollectiveChoice choose(std::span<const Pattern> patterns,
                                                Bytes size) const = 0;

  /// Collectives of one communicator that it moves at the same time; more wait in order.
  [[nodiscard]] virtual int concurrent_collectives() const { return 1; }

  /// A collective alone takes what choose() says. False: what its messages take, whatever that is.
  [[nodiscard]] virtual bool sets_times() const { return true; }

  /// Its collectives are kernels on the GPU: they slow down compute, and one follows the other on
  /// the communication stream. False: threads of the host move the data, the GPU computes on.
  /// REQUIRES: true only with one collective at a time.
  [[nodiscard]] virtual bool on_gpu() const { return true; }
};

/// The ring for every collective that has one, else pairs; priced by one model.
class RingLibrary final : public CollectiveLibrary {
 public:
  /// REQUIRES: neither is null.
  RingLibrary(std::shared_ptr<const Cluster> cluster, std::shared_ptr<const CostModel> model);

  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;

 private:
  std::shared_ptr<const Cluster> cluster_;
  std::shared_ptr<const CostModel> model_;
};

}  // namespace gradwire
