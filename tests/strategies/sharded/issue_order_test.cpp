#include "strategies/sharded/issue_order.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

Collective named(const std::string& label) {
  Collective collective;
  collective.label = label;
  return collective;
}

std::vector<std::string> started(IssueOrder& order) {
  std::vector<std::string> labels;
  order.start(
      [&](IssueOrder::Ticket, Collective collective) { labels.push_back(collective.label); });
  return labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("a collective whose input is missing holds up those issued behind it",
          "[fsdp][issue_order]") {
  IssueOrder order;
  order.expect(7);
  order.issue(named("a"), {}, false);
  order.issue(named("b"), {7}, false);
  const auto held = order.issue(named("c"), {}, true);
  order.issue(named("d"), {}, false);
  CHECK(started(order) == Labels{"a"});
  order.ended(7);
  CHECK(started(order) == Labels{"b"});
  order.release(held);
  CHECK(started(order) == Labels{"c", "d"});
}

TEST_CASE("what has ended before is not waited for", "[fsdp][issue_order]") {
  IssueOrder order;
  order.expect(7);
  order.ended(7);
  order.issue(named("a"), {7, 8}, false);  // 8 will not tell its end
  CHECK(started(order) == Labels{"a"});
}
