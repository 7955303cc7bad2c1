#include "sim/engine/link_shares.hpp"

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

TEST_CASE("A graph tells of links what its patterns tell", "[engine]") {
  const auto links = toy::star(8, 1e9, 0);
  Pattern again = toy::pairs({{0, 5}, {4, 5}, {0, 5}});  // thrice over link 11, in each phase
  again.phases.push_back(again.phases.front());
  again.connections = 2;  // links of no number of the cluster's
  const std::vector<Pattern> patterns = {toy::ring(toy::ranks(8, 2), 3), Pattern(), again,
                                         toy::chain(toy::ranks(4), 1)};
  const LinkShares expected(patterns);
  REQUIRE(expected.used() == 8 + 1 + 3);  // a ring of four ranks, 11, and 2, 3 and 7
  for (const bool separate_phases : {false, true}) {
    const LinkShares shares(make_flow_graph(links, patterns, separate_phases));
    CHECK(shares.used() == expected.used());
    REQUIRE(shares.ids() == expected.ids());
    for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
      std::vector<double> sums(shares.ids(), 0);
      std::vector<double> expected_sums = sums;
      shares.add_to(sums, pattern, 7);
      expected.add_to(expected_sums, pattern, 7);
      CHECK(sums == expected_sums);
    }
  }
}

}  // namespace
}  // namespace gradwire
