#include "sim/train/repeats.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// All-reduces what it chooses behind each iteration's backward, and notes which iterations it saw.
class Chooser final : public Strategy {
 public:
  struct Plan {
    Phasing phasing;
    std::int64_t (*bytes)(int iteration) = [](int) -> std::int64_t { return 1'000'000; };
    std::vector<int> seen{};
  };
  explicit Chooser(Plan& plan) : plan_(plan) {}

  Operations on_event(Seconds /*now*/, const Event& event) override {
    Operations operations;
    if (const auto* start = std::get_if<IterationStart>(&event)) {
      plan_.seen.push_back(start->iteration);
    } else if (const Bytes size{plan_.bytes(plan_.seen.back())};
               std::holds_alternative<BackwardDone>(event) && size > Bytes{0}) {
      operations.emplace_back(Collective{.size = size, .tensors = {0}, .label = "sum"});
      operations.emplace_back(Gate{{posted_}});
      posted_ += 2;
    }
    return operations;
  }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }
  [[nodiscard]] Phasing phasing() const override { return plan_.phasing; }

 private:
  Plan& plan_;
  OperationId posted_ = 0;
};

/// Numbers of the iterations that are run, of some for warm-up and 20 measured.
std::vector<int> run(Chooser::Plan plan, RunResult* result = nullptr, bool count = true,
                     int warmup = 3) {
  ToyTraining toy;
  toy.warmup = warmup;
  toy.iterations = 20;
  toy.all_phases = true;
  const StrategyFactory strategy = [&plan](const JobView&) {
    return std::make_unique<Chooser>(plan);
  };
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.count_repeats = count;
  const RunResult simulated = simulate(job);
  if (result != nullptr) *result = simulated;
  return plan.seen;
}

std::int64_t every_second(int iteration) {
  return iteration % 2 == 0 ? 1'000'000 : 0;
}

std::vector<int> up_to(int last) {
  std::vector<int> numbers;
  for (int i = 0; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

/// Notes an iteration of 1 s: an operation ends 0.25 s after it was posted, and is off by so much.
void note(Repeats& repeats, int iteration, double off = 0, double bytes = 8) {
  const double start = iteration;
  repeats.posted(iteration, start + 0.5);
  repeats.began(iteration, 3, bytes, start + 0.5);
  repeats.ended(iteration, start + 0.75 + off);
  repeats.iteration_ended(start + 1, iteration + 1, {{.start = start, .end = start + 1}});
}

}  // namespace

TEST_CASE("an iteration repeats the one before it where all is as late, to a billionth of it",
          "[train][repeats]") {
  Repeats repeats(1);
  note(repeats, 0);
  CHECK_FALSE(repeats.is_steady());
  note(repeats, 1);
  CHECK(repeats.is_steady());
  CHECK(repeats.samples(1).front().start == 1);
  note(repeats, 2, 0.5e-9);
  CHECK(repeats.is_steady());
  note(repeats, 3, 2e-9);  // 1.5e-9 s later than the last one
  CHECK_FALSE(repeats.is_steady());
  note(repeats, 4, 2e-9, 9);  // a byte more
  CHECK_FALSE(repeats.is_steady());
}

TEST_CASE("a run's second iteration that ends as the first comes again, whenever ranks started",
          "[train][repeats]") {
  // Two ranks end 0.75 and 1 s behind the iteration's start: the first starts the next one 0.25 s
  // before it. What its launcher posts comes 0.125 s later; a message begins 0.5 s behind the
  // start.
  const auto steady = [](bool by_starts, double launcher) {
    Repeats repeats(1, 0, by_starts);
    for (const int iteration : {0, 1}) {
      const double start = iteration;
      const double first = iteration == 0 ? start : start - 0.25;
      const OperationId begin = 2 * OperationId{iteration};
      repeats.posted(begin, first + 0.125 + iteration * launcher);
      repeats.ended(begin, start + 0.5);
      repeats.posted(begin + 1, start + 0.5);
      repeats.began(begin + 1, 3, 8, start + 0.5);
      repeats.ended(begin + 1, start + 0.625);
      repeats.iteration_ended(
          start + 1, begin + 2,
          {{.start = first, .end = start + 0.75}, {.start = start, .end = start + 1}});
    }
    return repeats.is_steady();
  };
  CHECK(steady(false, 0));
  CHECK_FALSE(steady(true, 0));
  CHECK_FALSE(steady(false, 0.01));  // later than by its rank's start
}

TEST_CASE("of a period of two, both iterations have to repeat those before them",
          "[train][repeats]") {
  Repeats repeats(2);
  note(repeats, 0, 0.125);
  note(repeats, 1);
  note(repeats, 2, 0.125);
  CHECK_FALSE(repeats.is_steady());
  note(repeats, 3);
  REQUIRE(repeats.is_steady());
  // Behind iteration 3 come one as 2, one as 3, one as 2.
  CHECK(repeats.samples(1).front().start == 2);
  CHECK(repeats.samples(2).front().start == 3);
  CHECK(repeats.samples(3).front().start == 2);
}

namespace {

/// An iteration of 1 s in which two operations are posted at one instant, within rounding, and end
/// 0.25 and 0.5 s later. @param first  0 or 1, the one that ends first.
void note_two(Repeats& repeats, int iteration, int first, bool move) {
  const double start = iteration;
  const OperationId begin = 2 * OperationId{iteration};
  for (const int number : {0, 1}) {
    repeats.posted(begin + number, start + 0.25 + 1e-12 * number);
    if (move) repeats.began(begin + number, number == first ? 4 : 5, 8, start + 0.25);
  }
  repeats.ended(begin + first, start + 0.5);
  repeats.ended(begin + 1 - first, start + 0.75);
  repeats.iteration_ended(start + 1, begin + 2, {{.start = start, .end = start + 1}});
}

}  // namespace

TEST_CASE("what moves may be posted in another order, what may stand behind another not",
          "[train][repeats]") {
  for (const bool move : {true, false}) {
    Repeats repeats(1);
    note_two(repeats, 0, 0, move);
    note_two(repeats, 1, 1, move);
    CHECK(repeats.is_steady() == move);
  }
}

namespace {

/// An iteration of 1 s in which two operations are posted at one instant to queues 1 and 2, and end
/// 0.25 and 0.5 s later. @param order  the queues as they are posted to. @param fast  whose ends
/// first.
void note_queues(Repeats& repeats, int iteration, std::array<int, 2> order, int fast) {
  const double start = iteration;
  const OperationId begin = 2 * OperationId{iteration};
  for (const int number : {0, 1}) {
    repeats.posted(begin + number, start + 0.25, order.at(static_cast<std::size_t>(number)));
  }
  const int first = order[0] == fast ? 0 : 1;
  repeats.ended(begin + first, start + 0.5);
  repeats.ended(begin + 1 - first, start + 0.75);
  repeats.iteration_ended(start + 1, begin + 2, {{.start = start, .end = start + 1}});
}

}  // namespace

TEST_CASE("what stands in different queues may be posted in another order", "[train][repeats]") {
  Repeats repeats(1);
  note_queues(repeats, 0, {1, 2}, 1);
  note_queues(repeats, 1, {2, 1}, 1);
  CHECK(repeats.is_steady());
  note_queues(repeats, 2, {2, 1}, 2);  // the other one ends first
  CHECK_FALSE(repeats.is_steady());
}

namespace {

/// An iteration of 1 s in which one message is posted at 0.5 s that ends in the next one.
/// @param late  how long after its beginning.
void note_overlapping(Repeats& repeats, int iteration, double late) {
  const double start = iteration;
  if (iteration > 0) repeats.ended(iteration - 1, start + late);
  repeats.posted(iteration, start + 0.5);
  repeats.began(iteration, 4, 8, start + 0.5);
  repeats.iteration_ended(start + 1, iteration + 1, {{.start = start, .end = start + 1}});
}

/// An iteration of 1 s in which two messages of one pattern begin at 0.25 and 0.5 s and end at 0.75
/// and 1 s. @param first  0 or 1, the one that ends first.
void note_pair(Repeats& repeats, int iteration, int first) {
  const double start = iteration;
  const OperationId begin = 2 * OperationId{iteration};
  for (const int number : {0, 1}) {
    repeats.posted(begin + number, start + 0.25);
    repeats.began(begin + number, 4, 8, start + 0.25 + 0.25 * number);
  }
  repeats.ended(begin + first, start + 0.75);
  repeats.ended(begin + 1 - first, start + 1);
  repeats.iteration_ended(start + 1, begin + 2, {{.start = start, .end = start + 1}});
}

}  // namespace

TEST_CASE("what was under way when an iteration began is known by how long it had been",
          "[train][repeats]") {
  Repeats repeats(1);
  note_overlapping(repeats, 0, 0.25);
  note_overlapping(repeats, 1, 0.25);
  CHECK_FALSE(repeats.is_steady());  // nothing was under way when 0 began
  note_overlapping(repeats, 2, 0.25);
  CHECK(repeats.is_steady());
  note_overlapping(repeats, 3, 0.125);
  CHECK_FALSE(repeats.is_steady());
}

TEST_CASE("two messages are the same only where each takes as long as it did", "[train][repeats]") {
  Repeats repeats(1);
  note_pair(repeats, 0, 0);
  note_pair(repeats, 1, 0);
  CHECK(repeats.is_steady());
  note_pair(repeats, 2, 1);  // the same begin and end, not of the same
  CHECK_FALSE(repeats.is_steady());
}

TEST_CASE("what repeats itself is run for two periods", "[train][repeats]") {
  // 0 is one of its own: nothing has been launched before it. 1 and 2 are alike.
  CHECK(run({}) == up_to(2));
  // Pairs (1, 2) and (3, 4) are alike: nine pairs from 5 to 22 are counted.
  CHECK(run({.phasing = {.steady_from = 0, .period = 2}, .bytes = every_second}) == up_to(4));
  CHECK(run({}, nullptr, false) == up_to(22));
}

TEST_CASE("what is left of a period is run", "[train][repeats]") {
  // Triples (1, 2, 3) and (4, 5, 6) are alike: of 16 from 7 to 22 five triples are counted.
  const auto every_third = [](int i) -> std::int64_t { return i % 3 == 0 ? 1'000'000 : 0; };
  CHECK(run({.phasing = {.steady_from = 0, .period = 3}, .bytes = every_third}) == up_to(7));
}

TEST_CASE("measuring begins with a period", "[train][repeats]") {
  const Chooser::Plan pairs{.phasing = {.steady_from = 0, .period = 2}, .bytes = every_second};
  RunResult result;
  // Two of the warm-up are left when (1, 2) and (3, 4) were alike: they are counted, too.
  CHECK(run(pairs, &result, true, 7) == up_to(4));
  CHECK(result.iteration_s.size() == 20);
  CHECK(result.collectives == 1);  // 0.5 of an iteration on average, rounded
  // One is left: it is run.
  CHECK(run(pairs, &result, true, 6) == up_to(5));
}

TEST_CASE("what comes before the phase that lasts is run", "[train][repeats]") {
  // 0 to 7 are alike, and so are 8 and 9, of the phase that lasts.
  Chooser::Plan plan{.phasing = {.steady_from = 8},
                     .bytes = [](int i) -> std::int64_t { return i < 8 ? 1'000'000 : 2'000'000; }};
  CHECK(run(plan) == up_to(9));
}

TEST_CASE("counted iterations are those that would have been run", "[train][repeats]") {
  // 19 ms, and an all-reduce of 1.5 ms every second time.
  Chooser::Plan plan{.phasing = {.steady_from = 0, .period = 2}, .bytes = every_second};
  RunResult counted;
  RunResult whole;
  run(plan, &counted);
  run(plan, &whole, false);
  REQUIRE(counted.iteration_s.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    // The first measured one is 3.
    CHECK(counted.iteration_s[i] == Approx(i % 2 == 0 ? 19e-3 : 20.5e-3).epsilon(1e-9));
    CHECK(whole.iteration_s[i] == Approx(counted.iteration_s[i]).epsilon(1e-9));
  }
  CHECK(counted.communication_busy_s == Approx(0.75e-3).epsilon(1e-9));
  CHECK(whole.communication_busy_s == Approx(0.75e-3).epsilon(1e-9));
  CHECK(counted.bytes_per_rank == whole.bytes_per_rank);
  REQUIRE(counted.links.size() == whole.links.size());
  for (std::size_t i = 0; i < counted.links.size(); ++i) {
    CHECK(counted.links[i].bytes == Approx(whole.links[i].bytes).epsilon(1e-9));
    CHECK(counted.links[i].utilisation == Approx(whole.links[i].utilisation).epsilon(1e-9));
  }
}

namespace {

/// On two machines of two GPUs and a server each, whose network is slow enough to be seen.
RunResult simulate_toy(const StrategyFactory& strategy, bool count_repeats, bool servers,
                       double rank) {
  auto toy = ToyTraining::networked(2, 2, BytesPerSecond{1e9});
  toy.warmup = 4;
  toy.iterations = 24;
  if (servers) toy.servers = {0, 1};
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter.rank = rank;
  job.count_repeats = count_repeats;
  return simulate(job);
}

/// @param rank  how unequal GPUs are.
void check_same(const StrategyFactory& strategy, bool servers = false, double rank = 0) {
  const RunResult whole = simulate_toy(strategy, false, servers, rank);
  const RunResult counted = simulate_toy(strategy, true, servers, rank);
  const auto same = [](double value) { return Approx(value).epsilon(1e-8).margin(1e-12); };
  REQUIRE(counted.iteration_s.size() == whole.iteration_s.size());
  for (std::size_t i = 0; i < whole.iteration_s.size(); ++i) {
    CHECK(counted.iteration_s[i] == same(whole.iteration_s[i]));
  }
  for (std::size_t part = 0; part < whole.breakdown.size(); ++part) {
    CHECK(counted.breakdown[part] == same(whole.breakdown[part]));
  }
  CHECK(counted.communication_busy_s == same(whole.communication_busy_s));
  CHECK(counted.coding_estimate_s == same(whole.coding_estimate_s));
  CHECK(counted.contended_s == same(whole.contended_s));
  CHECK(counted.contended_bytes == Approx(whole.contended_bytes).epsilon(1e-8).margin(1));
  CHECK(counted.bytes_per_rank == whole.bytes_per_rank);
  CHECK(counted.collectives == whole.collectives);
  CHECK(counted.warnings.size() == whole.warnings.size());
  REQUIRE(counted.links.size() == whole.links.size());
  for (std::size_t i = 0; i < whole.links.size(); ++i) {
    CHECK(counted.links[i].utilisation == same(whole.links[i].utilisation));
  }
}

}  // namespace

TEST_CASE("every strategy's counted iterations are those that it would run",
          "[train][repeats][catalogue]") {
  for (const auto& entry : config::strategy_catalogue()) {
    for (const double rank : {0.0, 0.0148}) {
      INFO(entry.name << ", unequal by " << rank);
      config::KnobList defaults;
      check_same(entry.read(defaults), entry.flags.servers, rank);
    }
  }
}

TEST_CASE("every compression's counted iterations are those that it would run",
          "[train][repeats][catalogue]") {
  for (const auto& compression : config::compression_catalogue()) {
    for (const std::string strategy : {"ddp", "wfbp", "ps_sync"}) {
      INFO(compression.name << " under " << strategy);
      const config::YamlValue document = config::parse_yaml(
          "{name: " + strategy + ", compression: {name: " + compression.name + "}}", "s.yaml");
      config::YamlMap map(document);
      const auto* entry = config::find_strategy(map.require<std::string>("name"));
      config::YamlKnobs knobs(std::move(map));
      std::string left_out;
      const auto make = config::read_strategy(*entry, knobs, &left_out);
      const auto on_a_core = [&](JobView job) {
        job.cpu = toy_cpu(core_sum_rate);
        return make(job);
      };
      check_same(on_a_core, entry->flags.servers);
    }
  }
}
