// DDP's join(): ranks whose inputs end before the others' shadow them.
#include "sim/core/refusal.hpp"
#include "sim/report/metrics.hpp"
#include "sim/train/jitter.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "tests/train/toy_training.hpp"

namespace gradwire::test {
namespace {

DdpOptions joined(Bytes cap) {
  return {.version = {1, 10},
          .bucket_cap = cap,
          .first_bucket_cap = cap,
          .broadcast_buffers = false,
          .join = true};
}

/// Two ranks, the second one half as fast and with inputs for three iterations, warm-up included.
RunResult run_uneven(const StrategyFactory& strategy, double layer_jitter = 0) {
  const ToyTraining toy(2);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter.layer = layer_jitter;
  job.stragglers = {{.ranks = {1}, .compute = 2}};
  job.uneven_inputs = {{.ranks = {1}, .iterations = 3}};
  return simulate(job);
}

}  // namespace

TEST_CASE("toy timeline: ddp, join() with uneven inputs", "[timeline][ddp][join]") {
  const auto result = run_uneven(make<Ddp>(joined(Bytes{2'000'000})));
  // Two all-reduces of one number are launched before forward, 5.2 us each.
  constexpr double launches = 2 * 5.2e-3;
  // Both: the slow one's backward ends at 36, T(2) = 2.5 follows, and its optimizer's 2. Alone the
  // fast one ends backward at 18, and the buckets still go to both.
  std::vector<double> times;
  for (const double seconds : result.iteration_s) times.push_back(1e3 * seconds);
  check(times, {36 + 2.5 + 2 + launches, 36 + 2.5 + 2 + launches, 18 + 2.5 + 1 + launches,
                18 + 2.5 + 1 + launches});
  CHECK(result.idle_ranks == 0.5);
  // Six batches of 8 in the four iterations.
  CHECK(metrics_of(result).throughput == Approx(6 * 8 / (124e-3 + 4e-3 * launches)));
}

TEST_CASE("Who has no inputs delays nobody, whatever its pace", "[ddp][join]") {
  // With noise all members are followed, without it the slowest of each kind.
  const auto result = run_uneven(make<Ddp>(joined(Bytes{2'000'000})), 0.05);
  CHECK(result.iteration_s.at(1) > 36e-3);
  CHECK(result.iteration_s.at(2) < 24e-3);
}

TEST_CASE("Gradients divided by the ranks that are left wait for their count", "[ddp][join]") {
  // One bucket; collectives 18 times as dear: those of one number take 9, one after the other, the
  // bucket's 117. The first gradient is there at 8, and waits until 9; so backward ends at 19.
  DdpOptions options = joined(Bytes{6'000'000});
  ToyTraining toy(2);
  toy.cost = std::make_shared<AlphaBeta>(18);
  check_each(toy.run(make<Ddp>(options)), 18 + 117 + 1);
  options.divide_by_initial_world_size = false;
  check_each(toy.run(make<Ddp>(options)), 19 + 117 + 1);
}

TEST_CASE("Ranks share a clock only where their inputs end together", "[train][join]") {
  const std::vector<int> inputs = inputs_of_ranks(5, {{{0, 3}, 7}, {{4}, 9}});
  const auto members =
      make_members(Placement(5), {}, {}, ToyTraining().profile, 1, {.inputs = inputs});
  REQUIRE(members.size() == 3);
  CHECK(members[0].inputs == 7);
  CHECK(members[0].count == 2);
  CHECK(members[1].inputs == MemberGroup::endless);
  CHECK(members[1].count == 2);
  CHECK(members[2].inputs == 9);
}

TEST_CASE("Without join() ranks would wait for ever, which is refused", "[ddp][join]") {
  DdpOptions options = joined(Bytes{2'000'000});
  options.join = false;
  CHECK_THROWS_AS(run_uneven(make<Ddp>(options)), UnsupportedConfiguration);
}

}  // namespace gradwire::test
