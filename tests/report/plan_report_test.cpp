#include "sim/report/plan_report.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// Two groups for server 0 and one for server 1; gradients ready after 1, 2 and 4 ms.
PlanReport three_groups() {
  return {
      .title = "three <groups>",
      .rows = {{.tensors = 2,
                .elements = 250'000,
                .bytes = 1'000'000,
                .first = "c",
                .last = "b",
                .note = "server 0, part 1 of 2",
                .ready_first = 0.001,
                .ready_last = 0.002},
               {.tensors = 1,
                .elements = 500'000,
                .bytes = 2'000'000,
                .first = "a",
                .last = "a",
                .note = "server 1",
                .ready_first = 0.004,
                .ready_last = 0.004},
               {.tensors = 0,
                .elements = 0,
                .bytes = 500'000,
                .first = {},
                .last = {},
                .note = "server 0"}},
      .exchanges = {{.name = "push", .phases = 1, .messages = 8, .volume = 8.0, .connections = 1}}};
}

}  // namespace

TEST_CASE("A plan's table has notes, times and what each server gets", "[report][plan]") {
  const std::string table = plan_table(three_groups());
  CHECK_THAT(table, Catch::ContainsSubstring("server 0, part 1 of 2  c ... b\n"));
  CHECK_THAT(table, Catch::ContainsSubstring("2.00  server 0, part 1 of 2"));
  // 1 000 000 + 500 000 bytes in two groups, 2 000 000 in one
  CHECK_THAT(table,
             Catch::ContainsSubstring("By server:\n  server 0         2 groups      1.50 MB\n"
                                      "  server 1         1 groups      2.00 MB\n"));
}

TEST_CASE("A plan's exchanges are summed", "[report][plan]") {
  const std::string table = exchange_table(three_groups());
  CHECK_THAT(table, Catch::ContainsSubstring("push"));
  CHECK_THAT(table, Catch::ContainsSubstring("8.00"));
  CHECK(exchange_table({}).empty());
}

TEST_CASE("A plan's picture has a step a group, as wide as its gradients' times",
          "[report][plan]") {
  const std::string svg = plan_svg(three_groups());
  CHECK_THAT(svg, Catch::ContainsSubstring("three &lt;groups&gt;"));
  // 720 pixels for 4 ms: from 84 + 180 on, 180 wide.
  CHECK_THAT(svg, Catch::ContainsSubstring("<rect x=\"264.0\""));
  CHECK_THAT(svg, Catch::ContainsSubstring("width=\"180.0\""));
  CHECK(plan_svg({}).find("</svg>") != std::string::npos);
}

TEST_CASE("A plan's picture has one line of legend, and each box tells of its group",
          "[report][plan]") {
  const std::string svg = plan_svg(three_groups());
  CHECK_THAT(svg, Catch::ContainsSubstring("colours only tell neighbours apart.</text>"));
  CHECK_THAT(svg,
             Catch::ContainsSubstring("<title>group 2: 0 tensors, 500.00 kB, server 0</title>"));
  // 60 above the plot, 420 of it, 60 of axis, 32 for the line.
  CHECK_THAT(svg, Catch::ContainsSubstring("height=\"572\""));
}
