#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/collective_library.hpp"

namespace gradwire {

/// The user's own line for an algorithm: t = alpha + size / bandwidth, whatever the ranks and the
/// network, with the size as CollectiveKind counts it.
struct UserLine {
  std::string algorithm;             ///< a name of algorithms()
  std::optional<CollectiveKind> op;  ///< absent: every one that the algorithm does
  Seconds alpha;                     ///< >= 0
  BytesPerSecond bandwidth;          ///< > 0
};

/// Prices by the user's lines (library `user`): for a size the algorithm whose line is lowest; that
/// is the uncontended time (CollectiveCost::uncontended), and contention acts on top.
class UserLines final : public CollectiveLibrary {
 public:
  /// REQUIRES: neither is null or empty. Of two lines for one algorithm and collective the one
  /// that names the collective counts.
  UserLines(std::shared_ptr<const Cluster> cluster, std::vector<UserLine> lines);

  /// @throws SimulationError when no line is for this collective, and as plan_collective.
  [[nodiscard]] std::vector<Pattern> plan(CollectiveKind kind,
                                          const Placement& ranks) const override;
  [[nodiscard]] CollectiveChoice choose(std::span<const Pattern> patterns,
                                        Bytes size) const override;

 private:
  [[nodiscard]] const UserLine* line_of(CollectiveKind kind, const std::string& algorithm) const;

  std::shared_ptr<const Cluster> cluster_;
  std::vector<UserLine> lines_;
};

}  // namespace gradwire
