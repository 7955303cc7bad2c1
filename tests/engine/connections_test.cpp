#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

using namespace gradwire;

namespace {

constexpr double rate = 10e9;
constexpr double connection = 3e9;

std::vector<ClusterLink> limited(int ranks, int connections) {
  auto links = toy::star(ranks, rate, 0);
  for (ClusterLink& link : links) {
    link.connection_capacity = connection;
    link.connections = connections;
  }
  return links;
}

}  // namespace

TEST_CASE("a flow gets at most what its connections carry", "[engine][connections]") {
  constexpr std::int64_t size = 3'000'000'000;
  const Pattern ring = toy::ring({0, 1, 2});
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    for (const int connections : {1, 2, 4}) {
      // 2 (n-1)/n S at min(rate, connections x 3 GB/s).
      const double expected = 4.0 / 3 * size / std::min(rate, connections * connection);
      CHECK(toy::run(limited(3, connections), {ring}, {{.bytes = size}}, fidelity).front() ==
            Approx(expected));
    }
    // A library that opens one has one, whatever the port says.
    Pattern single = ring;
    single.connections = 1;
    CHECK(toy::run(limited(3, 4), {single}, {{.bytes = size}}, fidelity).front() ==
          Approx(4.0 / 3 * size / connection));
  }
}

TEST_CASE("a limited flow leaves the rest of a link to the others", "[engine][connections]") {
  // Two transfers between the same ranks: one on a connection of 3 GB/s, one on four.
  Pattern slow = toy::pairs({{0, 1}});
  slow.connections = 1;
  const Pattern fast = toy::pairs({{0, 1}});
  // 7 GB at 10 - 3 GB/s end after 1 s, with the 3 GB at 3 GB/s.
  const auto ends =
      toy::run(limited(2, 4), {slow, fast},
               {{.pattern = 0, .bytes = 3'000'000'000}, {.pattern = 1, .bytes = 7'000'000'000}},
               Fidelity::fluid);
  CHECK(ends[0] == Approx(1));
  CHECK(ends[1] == Approx(1));
}

TEST_CASE("two opposite flows over a port of 55 % duplex get 55 % of its rate each",
          "[engine][connections]") {
  // Links 0 to 3 are up and down of two ports; 4 and 5 what both directions of each share.
  auto links = toy::star(2, rate, 0);
  links.insert(links.end(), 2, {2 * 0.55 * rate, 0, LinkKind::network});
  Pattern opposite = toy::pairs({{0, 1}, {1, 0}});
  opposite.path_links = {0, 4, 3, 5, 2, 5, 1, 4};
  opposite.phases[0].flows[0].path_size = 4;
  opposite.phases[0].flows[1].path_begin = 4;
  opposite.phases[0].flows[1].path_size = 4;
  Pattern single = opposite;
  single.phases[0].flows.pop_back();
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    CHECK(toy::run(links, {opposite}, {{.bytes = 1'100'000'000}}, fidelity).front() ==
          Approx(1.1e9 / (0.55 * rate)));
    CHECK(toy::run(links, {single}, {{.bytes = 1'100'000'000}}, fidelity).front() ==
          Approx(1.1e9 / rate));  // one direction alone has all of it
  }
}
