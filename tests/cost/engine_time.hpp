#pragma once

#include <span>

#include "sim/engine/engine.hpp"

namespace gradwire::test {

/// Seconds until the engine has moved this collective, alone.
inline double engine_time(const Cluster& cluster, const Pattern& pattern, Bytes size,
                          const CollectiveCost& cost, Fidelity fidelity = Fidelity::fluid) {
  EngineOptions options;
  options.one_at_a_time = true;
  options.fidelity = fidelity;
  options.slack = 0;  // SimGrid would allow only one engine in this program
  const auto engine = make_engine(cluster, std::span(&pattern, 1), options);
  double end = -1;
  engine->at(Seconds{}, [&] { engine->network().start(0, 0, size, cost); });
  engine->run([&](TransferId, Seconds now) { end = now.count(); });
  return end;
}

}  // namespace gradwire::test
