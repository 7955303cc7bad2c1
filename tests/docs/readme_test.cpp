#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/config/strategy/contenders.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire::config;

TEST_CASE("README names every strategy, and how many `compare` runs", "[docs]") {
  std::ostringstream page;
  page << std::ifstream(GRADWIRE_SOURCE_DIR "/README.md").rdbuf();
  for (const StrategyEntry& entry : strategy_catalogue()) {
    CHECK_THAT(page.str(), Catch::ContainsSubstring("`" + entry.name + "`"));
  }
  // One of each is DDP with its defaults.
  CHECK_THAT(page.str(), Catch::ContainsSubstring(fmt::format(
                             "it runs {} beside DDP: {} strategies", all_contenders().size() - 1,
                             strategy_catalogue().size() - 1)));
}
