#include "sim/report/bandwidth_svg.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

CollectiveReport report(CollectiveKind kind, double seconds) {
  CollectiveReport report;
  report.kind = kind;
  report.ranks = 8;
  for (const std::int64_t bytes : {1024, 2048, 4096, 8192}) {
    report.rows.push_back({bytes, seconds, 0, "ring", "ll", "model"});
  }
  return report;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("Curves that lie on each other take turns, in dashes and in marks", "[report]") {
  using enum CollectiveKind;
  // An all-gather and a reduce-scatter have the same bus factor, (n - 1) / n; a broadcast's is 1.
  const std::vector<CollectiveReport> same = {report(all_gather, 1e-3), report(broadcast, 1e-3),
                                              report(reduce_scatter, 1e-3)};
  const std::string svg = bandwidth_svg(same, "job");
  CHECK(count(svg, "<polyline") == 3);
  CHECK(count(svg, R"(stroke-dasharray="10 10" stroke-dashoffset="-0")") == 1);
  CHECK(count(svg, R"(stroke-dasharray="10 10" stroke-dashoffset="-10")") == 1);
  CHECK(count(svg, "<title>") == 4 + 4);  // four marks of the broadcast, two of each of the others
  const std::vector<CollectiveReport> apart = {report(all_gather, 1e-3),
                                               report(reduce_scatter, 2e-3)};
  CHECK(count(bandwidth_svg(apart, "job"), "stroke-dasharray") == 0);
}

}  // namespace gradwire
