
#include "sim/config/scenario.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

TEST_CASE("The walk-through's catalogue line makes its strategy known, with its knob", "[docs]") {
  const config::StrategyEntry* entry = config::find_strategy("counted_wfbp");
  REQUIRE(entry != nullptr);
  REQUIRE(entry->parameters.size() >= 1);
  CHECK(entry->parameters.front().name == "tensors_per_group");
  CHECK(entry->parameters.front().fallback == "8");
}

TEST_CASE("The walk-through's scenario is one of its strategy", "[docs]") {
  const auto scenarios =
      config::read_scenario(GRADWIRE_WALKTHROUGH "/scenarios/counted_wfbp.yaml", {});
  REQUIRE(scenarios.size() == 1);
  CHECK(scenarios.front().strategy_name == "counted_wfbp");
}
