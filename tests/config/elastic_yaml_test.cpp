#include "sim/config/strategy/elastic_yaml.hpp"

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

struct ElasticFixture : ConfigFixture {
  /// The good scenario of two machines of two GPUs, under KungFu, with `elastic` in its line 12.
  [[nodiscard]] std::string file(
      const std::string& elastic,
      const std::string& strategy = "{name: kungfu_sync, config_server: \"http://x/\"}") const {
    std::string text = good;
    text.replace(text.find("strategy:"),
                 text.find('\n', text.find("strategy:")) - text.find("strategy:"),
                 "strategy: " + strategy);
    text.replace(text.find("stragglers:"),
                 text.find('\n', text.find("stragglers:")) - text.find("stragglers:"),
                 "name: elastic");
    return write(text + "elastic: " + elastic + "\n");
  }
  [[nodiscard]] std::vector<Placement> placements(const std::string& elastic) const {
    std::vector<Placement> all;
    for (const Scenario& phase : read_scenario(file(elastic), {})) all.push_back(phase.placement);
    return all;
  }
  [[nodiscard]] std::string refusal(const std::string& elastic) const {
    return test::refusal_of([&] { return placements(elastic); });
  }
};

}  // namespace

TEST_CASE_METHOD(ElasticFixture, "a schedule is a scenario a phase, with its workers and steps",
                 "[config][elastic]") {
  const auto phases = read_scenario(
      file("{schedule: \"2:10,4:1000000000,1:3\", worker_start: 2 s, retries: 1}"), {});
  REQUIRE(phases.size() == 3);
  CHECK(phases[1].label == "phase 2");
  CHECK(phases[0].elastic->steps == 10);
  CHECK(phases[1].elastic->steps == 1'000'000'000);
  CHECK(phases[1].elastic->worker_start == Seconds{2});
  CHECK(phases[1].elastic->retries == 1);
  CHECK(phases[1].elastic->machines == 2);
  CHECK(phases[2].placement.size() == 1);
}

TEST_CASE_METHOD(ElasticFixture,
                 "KungFu adds a worker where there are fewest and takes the last ones away",
                 "[config][elastic]") {
  // cluster.go, Resize: 1 on machine 0; the second machine has none, then both have one, and the
  // first of them gets the third.
  const std::vector<Placement> expected = {
      {{0, 0}}, {{0, 0}, {1, 0}, {0, 1}}, {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}, {0, 1}, {1, 1}}};
  CHECK(placements("{schedule: \"1:1,3:1,2:1,4:1\", worker_start: 1 s}") == expected);
}

TEST_CASE_METHOD(ElasticFixture, "phases name their workers by GPU, first rank first",
                 "[config][elastic]") {
  const std::vector<Placement> expected = {{{0, 1}, {0, 0}}, {{0, 0}, {1, 1}}};
  CHECK(placements("{phases: [{workers: [1, 0], steps: 2}, {workers: [0, 3], steps: 2}], "
                   "worker_start: 1 s}") == expected);
}

TEST_CASE_METHOD(ElasticFixture, "what is wrong with a schedule is reported at its place",
                 "[config][elastic]") {
  const std::string form =
      "; expected size:steps, from 1 to 100000 workers and from 1 to 1000000000 steps, with commas "
      "between them, such as 2:100,4:50";
  for (const std::string part : {"2", "2:", ":5", "0:5", "2:0", "2x:5", "2:5:1", "100001:1", ""}) {
    CHECK(refusal("{schedule: \"1:1," + part + "\"}") ==
          "s.yaml:12:21: 'schedule' has '" + part + "'" + form);
  }
  CHECK(refusal("{schedule: \"2:1,5:1\"}") ==
        "s.yaml:12:21: 'schedule' asks for 5 workers, and machine 0, which has the fewest and gets "
        "the next, has 2 GPU(s); expected fewer");
  CHECK(refusal("{schedule: \"1:1,2:1\"}") ==
        "s.yaml:12:10: 'worker_start' is missing; expected the time from the start of a worker's "
        "process until it can communicate, such as 10 s: imports, session, graph");
  CHECK(refusal("{schedule: \"2:1,1:1\"}") == "accepted");  // nobody joins
  CHECK(refusal("{retries: 1}") ==
        "s.yaml:12:10: 'elastic' needs 'schedule' or 'phases'; expected one of the two");
}

TEST_CASE_METHOD(ElasticFixture, "a change that would lose the model is refused",
                 "[config][elastic]") {
  // peer.go, propose: sets without a common worker, or a new root that was no worker.
  CHECK(refusal("{phases: [{workers: [0, 1], steps: 1}, {workers: [2, 3], steps: 1}], "
                "worker_start: 1 s}") ==
        "s.yaml:12:49: no worker of this phase was one before, and the model is lost; expected one "
        "that stays");
  CHECK(refusal("{phases: [{workers: [0, 1], steps: 1}, {workers: [2, 1], steps: 1}], "
                "worker_start: 1 s}") ==
        "s.yaml:12:49: the first worker of this phase was none before, and broadcasts a model that "
        "it does not have; expected one that stays in the first place");
  CHECK(refusal("{phases: [{workers: [4], steps: 1}]}") ==
        "s.yaml:12:20: 'workers' names GPU 4; expected 0 to 3");
}

TEST_CASE_METHOD(ElasticFixture, "workers learn their number from a server, and 'run' follows it",
                 "[config][elastic]") {
  CHECK_THROWS_WITH(read_scenario(file("{schedule: \"2:1\"}", "{name: kungfu_sync}"), {}),
                    Catch::ContainsSubstring("expected a strategy with 'config_server'"));
  CHECK_THROWS_WITH(
      read_scenario(file("{schedule: \"2:1\"}",
                         "{name: kungfu_sync, mode: nccl, config_server: \"http://x/\"}"),
                    {}),
      Catch::ContainsSubstring("'config_server' has no effect here; expected 'mode: cpu'"));
  CHECK_THROWS_WITH(read_scenario(file("{schedule: \"2:1\"}\nplacement: packed"), {}),
                    Catch::ContainsSubstring("'placement' beside 'elastic'"));
  CHECK_THROWS_WITH(read_scenario(file("{schedule: \"2:1\"}\npoints: [{label: a}]"), {}),
                    Catch::ContainsSubstring("'points' beside 'elastic'"));
  CHECK_THROWS_WITH(read_sweep_point(file("{schedule: \"2:1\"}\nvary: {run.seed: [1, 2]}"), {},
                                     {{"run.seed", "1"}}),
                    Catch::ContainsSubstring("'elastic' is for 'gradwire run'"));
}
