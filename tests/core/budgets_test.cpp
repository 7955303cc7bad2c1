#include "sim/core/budgets.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;

TEST_CASE("docs/input_budgets.md has every budget with its value, and no other",
          "[core][budgets]") {
  std::ifstream file(GRADWIRE_SOURCE_DIR "/docs/input_budgets.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string table = "| Budget | Most | Of |\n| --- | ---: | --- |\n";
  for (const Budget& budget : input_budgets()) {
    table +=
        fmt::format("| `{}` | {} {} | {} |\n", budget.name, budget.most, budget.unit, budget.of);
  }
  INFO(table);
  CHECK(page.find(table + "\n") != std::string::npos);
}

TEST_CASE("each budget has a name of its own, which its refusal says", "[core][budgets]") {
  std::set<std::string_view> names;
  for (const Budget& budget : input_budgets()) {
    CHECK(names.insert(budget.name).second);
    CHECK(budget.most > 0);
    CHECK_THAT(over(budget), Catch::ContainsSubstring("limit " + std::string(budget.name)));
  }
}
