#include "sim/cost/user_lines.hpp"

#include <string>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

std::shared_ptr<const Cluster> four() {
  return host_cluster(4, {"ib", "ib", BytesPerSecond{10e9}, Seconds{}});
}

UserLine line(const std::string& algorithm, double alpha, double bandwidth,
              std::optional<CollectiveKind> op = {}) {
  return {algorithm, op, Seconds{alpha}, BytesPerSecond{bandwidth}};
}

}  // namespace

TEST_CASE("of the user's lines the lowest counts, and its algorithm runs", "[cost][user]") {
  const auto cluster = four();
  const UserLines library(cluster,
                          {line("ring", 1e-3, 4e9), line("recursive_doubling", 1e-4, 1e9)});
  const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
  REQUIRE(patterns.size() == 2);
  // 1 ms + S / 4 GB/s = 0.1 ms + S / 1 GB/s at S = 1.2 MB.
  const auto small = library.choose(patterns, Bytes{1'199'000});
  CHECK(small.cost.algorithm == "recursive_doubling");
  CHECK(small.cost.uncontended->count() == Approx(1e-4 + 1.199e-3));
  const auto large = library.choose(patterns, Bytes{1'201'000});
  CHECK(large.cost.algorithm == "ring");
  CHECK(patterns[large.pattern].algorithm == "ring");
  // Alone, the engine takes just that.
  CHECK(time_of(library, *cluster, CollectiveKind::all_reduce, Bytes{8'000'000}) ==
        Approx(1e-3 + 2e-3));
}

TEST_CASE("a line of one collective stands before a line of all", "[cost][user]") {
  const auto cluster = four();
  const UserLines library(cluster,
                          {line("ring", 1, 1e9), line("ring", 2, 1e9, CollectiveKind::broadcast)});
  const auto alone = [&](CollectiveKind kind) {
    const auto patterns = library.plan(kind, packed_placement(*cluster, 1));
    REQUIRE(patterns.size() == 1);
    return library.choose(patterns, Bytes{0}).cost.uncontended->count();
  };
  CHECK(alone(CollectiveKind::all_reduce) == 1);
  CHECK(alone(CollectiveKind::broadcast) == 2);
}

TEST_CASE("a collective without a line is an error", "[cost][user][errors]") {
  const auto cluster = four();
  const UserLines library(cluster, {line("ring", 1, 1e9)});
  CHECK_THROWS_MATCHES(library.plan(CollectiveKind::all_to_all, packed_placement(*cluster, 1)),
                       SimulationError,
                       Catch::Message("library user has no line for all_to_all; expected one under "
                                      "'collective.lines'"));
}
