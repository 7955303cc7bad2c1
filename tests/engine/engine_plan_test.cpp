#include "sim/engine/engine_plan.hpp"

#include <vector>

#include "sim/core/refusal.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy_cluster.hpp"

namespace gradwire {
namespace {

std::vector<Pattern> sealed(std::vector<Pattern> patterns) {
  for (Pattern& pattern : patterns) pattern.seal();
  return patterns;
}

TEST_CASE("With a memo engines run as without, whatever it keeps", "[engine]") {
  auto slow = toy::star(8, 1e9, 3e-6);
  slow[5].capacity /= 2;
  const auto fast = toy::star(8, 1e9, 3e-6);
  const auto rings = sealed({toy::ring(toy::ranks(8)), toy::pairs({{0, 5}, {4, 5}})});
  const auto chains = sealed({toy::chain(toy::ranks(8), 4), toy::pairs({{0, 5}, {4, 5}})});
  const std::vector<toy::Start> starts = {{0, 0, 1'000'000}, {1e-4, 1, 1'000'000}};
  EngineMemo memo;
  const auto check = [&](const auto& links, const auto& patterns, Fidelity fidelity) {
    EngineOptions options = toy::options(fidelity, /*reference=*/true);
    const auto expected = toy::run_with(links, patterns, starts, options);
    options.memo = &memo;
    CHECK(toy::run_with(links, patterns, starts, options) == expected);
  };
  for (int again = 0; again < 2; ++again) {
    for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
      check(fast, rings, fidelity);
      check(fast, rings, fidelity);
      check(slow, rings, fidelity);
      check(slow, chains, fidelity);
    }
  }
}

TEST_CASE("A plan that is kept reads each pattern once, in order, as one that is made",
          "[engine]") {
  const auto links = toy::star(8, 1e9, 0);
  const auto patterns = sealed({toy::ring(toy::ranks(8)), toy::pairs({{0, 5}, {4, 5}})});
  EngineMemo memo;
  for (int again = 0; again < 2; ++again) {
    std::vector<PatternId> read;
    const EnginePlan plan =
        memo.plan_engine(links, patterns, {}, [&](PatternId id) { read.push_back(id); });
    CHECK(read == std::vector<PatternId>{0, 1});
    CHECK(plan.reduced.quotient.patterns.size() == 2);
  }
}

TEST_CASE("Where a ring within machines meets a NIC's messages on PCIe every message is by itself",
          "[engine]") {
  // 20 ranks, 380 messages of 2 (20 - 1) steps: more than 16 and 64.
  const auto patterns = sealed({toy::ring(toy::ranks(20)), toy::pairs({{0, 20}}),
                                toy::pairs({{21, 22}}), toy::pairs({{0, 1}})});
  auto links = toy::star(23, 1e9, 0);
  for (std::size_t link = 0; link < 40; ++link) links[link].kind = LinkKind::pcie;
  const auto chosen = [&](std::initializer_list<std::size_t> among, EngineOptions options = {}) {
    std::vector<Pattern> some;
    for (const std::size_t pattern : among) some.push_back(patterns[pattern]);
    return plan_engine(links, some, options, {}).reduced.fidelity;
  };
  CHECK(chosen({0, 1}) == Fidelity::step);
  CHECK(chosen({0, 2}) == Fidelity::fluid);
  CHECK(chosen({0, 1}, {.one_at_a_time = true}) == Fidelity::fluid);
  CHECK(chosen({0, 1}, {.fidelity = Fidelity::fluid}) == Fidelity::fluid);
  for (const Fidelity asked : {Fidelity::fluid, Fidelity::coupled}) {
    const EngineOptions options{.fidelity = asked, .refuses_inexact = true};
    CHECK_THROWS_AS(chosen({0, 1}, options), UnsupportedConfiguration);
    CHECK_NOTHROW(chosen({0, 2}, options));
  }
  CHECK(chosen({0, 1}, {.fidelity = Fidelity::step, .refuses_inexact = true}) == Fidelity::step);
  links[0].kind = LinkKind::nvlink;  // which both pass
  CHECK(chosen({0, 1}) == Fidelity::fluid);

  // A ring between machines and an exchange within one: bursts, where no library says their times.
  links[0].kind = LinkKind::pcie;
  links[38].kind = LinkKind::network;
  CHECK(chosen({0, 3}) == Fidelity::fluid);
  CHECK(chosen({0, 3}, {.library_sets_times = false}) == Fidelity::step);
}

}  // namespace
}  // namespace gradwire
