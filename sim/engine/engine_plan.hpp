#pragma once

#include <memory>
#include <span>

#include "sim/engine/engine.hpp"
#include "sim/engine/link_shares.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// What a network moves by.
struct Reduced {
  Quotient quotient;
  Fidelity fidelity = Fidelity::fluid;
  NetworkStats stats{};
};

/// What an engine is made of.
struct EnginePlan {
  Reduced reduced;
  LinkShares shares;
};

/// As make_engine().
[[nodiscard]] EnginePlan plan_engine(ClusterLinks links, std::span<const Pattern> patterns,
                                     const EngineOptions& options, const PatternRead& read);

/// Keeps the last plan: a copy takes less than to plan the same again.
class EngineMemo {
 public:
  EngineMemo();
  ~EngineMemo();
  EngineMemo(const EngineMemo&) = delete;
  EngineMemo& operator=(const EngineMemo&) = delete;

  /// As the function. REQUIRES: patterns are sealed.
  [[nodiscard]] EnginePlan plan_engine(ClusterLinks links, std::span<const Pattern> patterns,
                                       const EngineOptions& options, const PatternRead& read);

 private:
  struct Kept;
  std::unique_ptr<const Kept> kept_;
};

}  // namespace gradwire
