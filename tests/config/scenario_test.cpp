#include "sim/config/scenario.hpp"
#include "sim/config/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

TEST_CASE_METHOD(ConfigFixture, "a scenario becomes domain types", "[config][scenario]") {
  const auto scenarios = read_scenario(write(good, "my-job.yaml"), {});
  REQUIRE(scenarios.size() == 1);
  const Scenario& s = scenarios.front();
  CHECK(s.label.empty());
  CHECK(s.name == "my-job");
  CHECK(s.profile->model == "tiny");
  CHECK(s.gpu.name == "small-gpu");
  CHECK(s.cluster->node_count() == 2);
  CHECK(s.cluster->fabric().port.name == "ib_edr");
  CHECK(s.placement == Placement{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(s.strategy_name == "ddp");
  CHECK(s.run.iterations == 10);
  CHECK(s.run.warmup == 2);
  CHECK(s.run.seed == 3);
  CHECK(s.run.fidelity == "fluid");
  CHECK(s.jitter.rank == Approx(0.01));
  CHECK(s.jitter.iteration == Approx(0.02));
  CHECK(s.jitter.layer == 0.0);
  REQUIRE(s.stragglers.size() == 2);
  CHECK(s.stragglers[0].ranks == std::vector<int>{3});
  CHECK(s.stragglers[0].compute == 1.5);
  CHECK(s.stragglers[1].fraction == Approx(0.01));
  CHECK(s.warnings.empty());
}

TEST_CASE_METHOD(ConfigFixture, "what a scenario leaves out has its stated default",
                 "[config][scenario]") {
  const Scenario s = read_scenario(write("schema: gradwire.scenario/1\n"
                                         "profile: tiny/small-gpu_fp32_b4\n"
                                         "cluster: {node: pair}\n"
                                         "strategy: {name: bsp}\n"),
                                   {})
                         .front();
  CHECK(s.cluster->node_count() == 1);
  CHECK(s.placement.size() == 2);  // all of the node's GPUs
  CHECK(s.run.iterations == 50);
  CHECK(s.run.warmup == 5);
  CHECK(s.run.fidelity == "auto");
  CHECK(s.grad_accumulation == 1);
  CHECK(s.jitter.iteration == Approx(0.004));  // the profile's factor_stdev
  CHECK_FALSE(s.jitter.layer.has_value());     // each layer's own
  CHECK(s.jitter.rank == Approx(0.0148));      // Sinha et al., SC 2022
  CHECK(s.library != nullptr);
}

TEST_CASE_METHOD(ConfigFixture, "a jitter that is given says all of it: its GPUs are equally fast",
                 "[config][scenario]") {
  const JitterSpec jitter = read_scenario(write(good), {"jitter={layer: 0 %}"}).front().jitter;
  CHECK(jitter.rank == 0);
  CHECK(jitter.iteration == Approx(0.004));  // the profile's factor_stdev
  CHECK(jitter.layer == 0.0);
}

TEST_CASE_METHOD(ConfigFixture, "iteration_time scales the profile", "[config][scenario]") {
  const std::string file = write(good);
  // The profile's iteration takes 10 ms: 20 ms doubles each layer, 1 ms of conv forward becomes 2.
  const Scenario s = read_scenario(file, {"profile.iteration_time=20 ms"}).front();
  CHECK(s.profile->iteration.count() == Approx(0.020));
  CHECK(s.profile->layers[0].forward.count() == Approx(0.002));
  const std::string by_parts =
      "profile={model: tiny, gpu: small-gpu, batch_per_gpu: 4, dtype: fp32, iteration_time: 5 ms}";
  CHECK(read_scenario(file, {by_parts}).front().profile->iteration.count() == Approx(0.005));
}

TEST_CASE_METHOD(ConfigFixture, "an iteration time far from the profile's own is warned of",
                 "[config][scenario]") {
  const std::string file = write(good);
  const auto told = [&](const std::string& time) {
    const Scenario s = read_scenario(file, {"profile.iteration_time=" + time}).front();
    return std::ranges::count(s.warnings, "iteration-time", &Warning::code);
  };
  // The profile's takes 10 ms.
  CHECK(told("2.1 ms") == 0);
  CHECK(told("49 ms") == 0);
  CHECK(told("10 us") == 1);
  CHECK(told("10 s") == 1);
}

TEST_CASE_METHOD(ConfigFixture, "a time of several micro-batches has one step of the optimizer",
                 "[config][scenario]") {
  const std::string file = write(good);
  const double optimizer = read_scenario(file, {}).front().profile->optimizer.count();
  // 10 ms an iteration of one; of four, 4 (10 - o) + o, which scales every time by 1.
  const double four = 4 * (10 - 1e3 * optimizer) + 1e3 * optimizer;
  const auto scaled = read_scenario(file, {"profile.iteration_time=" + std::to_string(four) + " ms",
                                           "profile.iteration_micro_batches=4"});
  CHECK(scaled.front().profile->iteration.count() == Approx(0.010));
  CHECK(scaled.front().profile->optimizer.count() == Approx(optimizer));
  CHECK_THROWS_WITH(read_scenario(file, {"profile.iteration_micro_batches=4"}),
                    Catch::Matchers::EndsWith(
                        "'iteration_micro_batches' without 'iteration_time'; expected both"));
}

TEST_CASE_METHOD(ConfigFixture, "a known time may be of a strategy on one GPU",
                 "[config][scenario]") {
  const std::string file = write(good);
  const auto read = [&](const std::string& strategy) {
    return read_scenario(
        file, {"profile.iteration_time=20 ms", "profile.iteration_strategy=" + strategy});
  };
  const auto under = read("{name: ddp, bucket_cap: 1 MiB}").front().timed_under;
  REQUIRE(under);
  CHECK(under->time.count() == Approx(0.020));
  CHECK(under->micro_batches == 1);
  CHECK(!read("{name: none}").front().timed_under);
  CHECK_THROWS_WITH(read("{name: ps_sync}"),
                    Catch::Matchers::EndsWith("'iteration_strategy' is 'ps_sync', which has "
                                              "servers; expected a strategy without"));
  CHECK_THROWS_WITH(read("{name: ddp, bucket: 1 MiB}"),
                    Catch::Matchers::EndsWith("did you mean 'bucket_cap'?"));
  CHECK_THROWS_WITH(
      read_scenario(file, {"profile.iteration_strategy={name: ddp}"}),
      Catch::Matchers::EndsWith("'iteration_strategy' without 'iteration_time'; expected both"));
}

TEST_CASE_METHOD(ConfigFixture, "what the models were not made for is reported as a warning",
                 "[config][scenario]") {
  const auto warnings = [&](const std::string& set) {
    return read_scenario(write(good), {set}).front().warnings;
  };
  const auto nccl = warnings("collective.version=2.3");
  REQUIRE(nccl.size() == 1);
  CHECK(nccl[0].text == "NCCL 2.3 is priced with the constants of 2.4");
  const auto node = [&](const std::string& model) {
    return "cluster.node=" +
           write(
               "schema: gradwire.node_topology/1\nname: other\nsource: made up\n"
               "gpus: [{id: gpu0, model: " +
                   model +
                   "}]\n"
                   "nics: [{id: nic0}]\n"
                   "pcie: [{a: gpu0, b: nic0, bandwidth: 12 GB/s, latency: 1 us}]\n",
               "other.yaml");
  };
  CHECK(read_scenario(write(good), {node("small-gpu-16gb"), "stragglers=[]"})
            .front()
            .warnings.empty());
  const auto gpu = read_scenario(write(good), {node("big-gpu-80gb"), "stragglers=[]"}).front();
  REQUIRE(gpu.warnings.size() == 1);
  CHECK(gpu.warnings[0].text ==
        "the profile is of small-gpu, the cluster's GPUs are big-gpu-80gb; compute times are "
        "the profile's; 'gpu' in 'profile' derives others, 'gpu' in 'cluster' says what the "
        "machines have");
  CHECK(gpu.profile->source.kind == "recorded");
  CHECK(read_scenario(write(good), {node("big-gpu-80gb"), "cluster.gpu=small-gpu", "stragglers=[]"})
            .front()
            .warnings.empty());
}

TEST_CASE_METHOD(ConfigFixture, "each point is a scenario of its own", "[config][scenario]") {
  const std::string file =
      write(std::string(good) +
            "points:\n"
            "  - {label: no ddp, strategy.name: none, cluster.nodes: 1, cluster.gpus_per_node: 1, "
            "stragglers: []}\n"
            "  - {label: slow, cluster.fabric.link: {bandwidth: 10 Gbit/s, latency: 20 us, kind: "
            "tcp}}\n"
            "  - {strategy.bucket_cap: 1 MiB}\n");
  const auto points = read_scenario(file, {"run.iterations=7"});
  REQUIRE(points.size() == 3);
  CHECK(points[0].label == "no ddp");
  CHECK(points[0].strategy_name == "none");  // DDP's own knobs went with it
  CHECK(points[0].placement.size() == 1);
  CHECK(points[1].label == "slow");
  CHECK(points[1].cluster->fabric().port.bandwidth.count() == Approx(10e9 / 8));
  CHECK(points[2].label == "point 3");
  CHECK(points[2].run.iterations == 7);
  CHECK(points[1].sha256 != points[2].sha256);
}

TEST_CASE_METHOD(ConfigFixture, "an explicit placement names GPUs in order of rank",
                 "[config][scenario]") {
  const std::string file = write(good);
  const auto with = [&](const std::string& set) {
    return read_scenario(file, {"stragglers=[]", "placement=" + set}).front().placement;
  };
  CHECK(with("[node1.gpu0, node0.gpu1]") == Placement{{1, 0}, {0, 1}});
  CHECK(with("round_robin") == Placement{{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  CHECK_THROWS_WITH(with("[node0.gpu0, node0.gpu2]"),
                    "--set placement=[node0.gpu0, node0.gpu2]:1:24: 'placement' names "
                    "'node0.gpu2', which is not there; expected a GPU of the cluster such as "
                    "node0.gpu0, each once");
  CHECK_THROWS_WITH(with("[node0.gpu0, node0.gpu0]"),
                    "--set placement=[node0.gpu0, node0.gpu0]:1:24: 'placement' names 'node0.gpu0' "
                    "twice; expected a GPU of the cluster such as node0.gpu0, each once");
}

TEST_CASE_METHOD(ConfigFixture, "links_per_node gives each machine as many ports",
                 "[config][scenario]") {
  const std::string file = write(good);
  const auto ports = [&](const std::string& links) {
    const Scenario s = read_scenario(file, {"cluster.fabric.links_per_node=" + links}).front();
    CHECK(s.cluster->node(0).nics().size() == std::stoul(links));
    return s.cluster->fabric().port_count();
  };
  CHECK(ports("1") == 2);
  CHECK(ports("4") == 8);
}

TEST_CASE_METHOD(ConfigFixture, "collectives need no profile and no strategy",
                 "[config][scenario]") {
  const std::string file = write(
      "schema: gradwire.scenario/1\ncluster: {node: pair}\ncollective: {library: user, "
      "alpha: 20 us, bandwidth: 10 GB/s}\n");
  const Scenario s = read_scenario(file, {}, Needs::cluster_only).front();
  CHECK_FALSE(s.profile.has_value());
  // alpha + size / bandwidth = 20 us + 10 MB / 10 GB/s = 1.02 ms
  const auto patterns = s.library->plan(CollectiveKind::all_reduce, s.placement);
  CHECK(s.library->choose(patterns, Bytes{10'000'000}).cost.uncontended->count() ==
        Approx(1.02e-3));
  CHECK_THROWS_WITH(read_scenario(file, {}),
                    file +
                        ":1:1: missing key 'profile'; expected a name that 'gradwire list "
                        "profiles' shows");
}

TEST_CASE_METHOD(ConfigFixture, "libraries of host memory and lines of one's own are read",
                 "[config][collective]") {
  const auto library = [&](const std::string& collective) {
    const std::string file = write(
        "schema: gradwire.scenario/1\ncluster: {node: pair}\n"
        "collective: {" +
        collective + "}\n");
    return read_scenario(file, {}, Needs::cluster_only).front().library;
  };
  CHECK(library("library: gloo")->concurrent_collectives() == 2);
  CHECK_FALSE(library("library: mpi, version: \"4.0\", algorithm: ring")->on_gpu());
  const std::string table = write(
      "schema: gradwire.collective_table/1\nlibrary: mpi\nentries:\n"
      "  - {op: all_reduce, ranks: 2, nodes: 1, source: {kind: recorded, file: here}, rows: "
      "[{size: 1 MiB, time: 7 ms}]}\n",
      "table.yaml");
  const auto measured = library("library: mpi, table: " + table);
  const auto patterns = measured->plan(CollectiveKind::all_reduce, {{0, 0}, {0, 1}});
  const auto cost = measured->choose(patterns, Bytes{1 << 20}).cost;
  // 7 ms in host memory, and 1 MiB there and back at 12 GB/s.
  CHECK(cost.uncontended.value().count() == Approx(7e-3 + 2 * 1048576 / 12e9));
  CHECK(cost.source == "table");
  CHECK(library("library: user, lines: [{algorithm: ring, alpha: 1 us, bandwidth: 1 GB/s}]")
            ->on_gpu());
  const auto message = [&](const std::string& collective) {
    return test::refusal_of([&] { return library(collective); }).substr(7);
  };
  CHECK(message("library: gloo, algorithm: ring").starts_with("3:29: unknown key 'algorithm'"));
  CHECK(message("library: mpi, algorithm: rings") ==
        "3:39: 'algorithm' is 'rings'; expected one of auto, recursive_doubling, ring, "
        "segmented_ring, rabenseifner; did you mean 'ring'?");
  CHECK(message("library: user, alpha: 1 us, lines: [{algorithm: ring, alpha: 1 us, bandwidth: 1 "
                "GB/s}]") == "3:36: 'alpha' stands beside 'lines'; expected one of the two");
  CHECK(message("library: user, lines: [{algorithm: pairwise, op: broadcast, alpha: 1 us, "
                "bandwidth: 1 GB/s}]") ==
        "3:49: 'pairwise' does not do broadcast; expected an algorithm that does (gradwire list "
        "collectives)");
}

TEST_CASE_METHOD(ConfigFixture, "the echo is JSON with sorted keys, and hashes to SHA-256",
                 "[config][scenario]") {
  const std::string file =
      write("schema: gradwire.scenario/1\ncluster: {nodes: 1, node: pair}\nname: \"12\"\n");
  const Scenario s = read_scenario(file, {}, Needs::cluster_only).front();
  CHECK(s.json ==
        R"({"cluster":{"node":"pair","nodes":1},"name":"12","schema":"gradwire.scenario/1"})");
  // A release is no number: NCCL 2.10 came nine after 2.1.
  CHECK_THAT(read_scenario(file, {"collective.version=2.10"}, Needs::cluster_only).front().json,
             Catch::Contains(R"("version":"2.10")"));
  // printf '%s' JSON | sha256sum
  CHECK(s.sha256 == "ca77c52f5ed03d14384c50d349b7723bfe86a2805a7915bd05cf584d94341aad");
}

TEST_CASE_METHOD(ConfigFixture, "a sweep is the product of its axes, the last one fastest",
                 "[config][sweep]") {
  const std::string file =
      write(std::string(good) +
            "vary: {cluster.nodes: [2, 3], strategy.name: [ddp, bsp], run.seed: [1]}\n");
  const auto points = sweep_points(file, {});
  REQUIRE(points.size() == 4);
  CHECK(points[1] ==
        SweepPoint{{"cluster.nodes", "2"}, {"strategy.name", "bsp"}, {"run.seed", "1"}});
  CHECK(points[2] ==
        SweepPoint{{"cluster.nodes", "3"}, {"strategy.name", "ddp"}, {"run.seed", "1"}});
  const Scenario s = read_sweep_point(file, {}, points[3]);
  CHECK(s.label == "cluster.nodes=3, strategy.name=bsp, run.seed=1");
  CHECK(s.cluster->node_count() == 3);
  CHECK(s.strategy_name == "bsp");
  CHECK(sweep_points(write(good, "plain.yaml"), {}).empty());
}

TEST_CASE_METHOD(ConfigFixture, "a sweep of more values than 'check' can look at is refused",
                 "[config][errors][sweep]") {
  std::string values = "0";
  for (int i = 1; i < 20'000; ++i) values += fmt::format(", {}", i);
  const std::string file = write(std::string(good) + "vary:\n  run.seed: [" + values +
                                 "]\n  run.warmup: [" + values + "]\n");
  const auto message = Catch::ContainsSubstring(
      "'vary' has more than 500 values (limit sweep_values: the values of a scenario's 'vary', all "
      "axes together); expected fewer");
  CHECK_THROWS_WITH(check_file(file), message);
  CHECK_THROWS_WITH(sweep_points(file, {}), message);
}

TEST_CASE_METHOD(ConfigFixture, "a sweep of more combinations than anybody waits for is refused",
                 "[config][errors][sweep]") {
  std::string vary = "vary:\n";  // line 12
  std::string values = "0";
  for (int i = 1; i < 40; ++i) values += fmt::format(", {}", i);
  for (const char* key :
       {"run.seed", "run.warmup", "placement.seed", "jitter.rank", "name", "gpu"}) {
    vary += fmt::format("  {}: [{}]\n", key, values);
  }
  const std::string file = write(good + vary);
  // 40^6 = 4.096e9
  CHECK_THROWS_WITH(
      sweep_points(file, {}),
      file +
          ":13:3: 'vary' asks for 4.096e+09 combinations: more than 100000 combinations (limit "
          "sweep_combinations: the product of a scenario's 'vary'); expected fewer");
}
