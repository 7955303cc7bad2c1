#include <array>
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

constexpr double pcie = 12e9;
constexpr double wire = 100e9;

/// One flow over these links.
Pattern flow_over(std::initializer_list<LinkId> links) {
  Pattern pattern;
  pattern.algorithm = "direct";
  pattern.ranks = 2;
  pattern.path_links = links;
  Phase phase;
  phase.flows.push_back({0, 1, 1.0, 0, 0, static_cast<std::uint32_t>(links.size())});
  pattern.phases.push_back(phase);
  return pattern;
}

TEST_CASE("A GPU's copy gets half of a PCIe link, however many messages a NIC has on it",
          "[engine][ports]") {
  constexpr std::int64_t copied = 6'000'000;
  constexpr std::int64_t sent = 600'000'000;
  // 0: the link of both; 1: the network
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({0, 1})};
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    for (const int messages : {1, 3, 7}) {
      std::vector<toy::Start> starts;
      for (int i = 0; i < messages; ++i) starts.push_back({0, 1, sent, {}});
      starts.push_back({1e-3, 0, copied, {}});
      const double end = toy::run(links, patterns, starts, fidelity).back();
      CHECK(end - 1e-3 == Approx(copied / (pcie / 2)).epsilon(1e-6));
    }
    // Messages have what a copy leaves, and all of the link without one.
    const auto ends =
        toy::run(links, patterns, {{0, 1, sent, {}}, {1e-3, 0, copied, {}}}, fidelity);
    CHECK(ends[0] == Approx((sent + copied) / pcie).epsilon(1e-6));
  }
}

TEST_CASE("Copies share a link by flow where no message is on it", "[engine][ports]") {
  const std::vector<ClusterLink> links{{pcie, 0, LinkKind::pcie}, {wire, 0, LinkKind::network}};
  const std::vector<Pattern> patterns{flow_over({0}), flow_over({1})};
  const auto ends = toy::run(
      links, patterns, {{0, 0, 6'000'000, {}}, {0, 0, 6'000'000, {}}, {0, 1, 100'000'000, {}}},
      Fidelity::fluid);
  CHECK(ends[0] == Approx(12e6 / pcie).epsilon(1e-6));
  CHECK(ends[1] == Approx(12e6 / pcie).epsilon(1e-6));
}

}  // namespace
}  // namespace gradwire
