#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr const char* points =
    "points:\n"
    "  - {label: \"no ddp\", strategy.name: none, cluster.gpus_per_node: 1}\n"
    "  - {label: \"1M/1G\", cluster.gpus_per_node: 1}\n"
    "  - {label: \"1M/4G\", cluster.gpus_per_node: 4}\n";

TEST_CASE("One prediction prints its summary and writes every kind of file", "[cli][run]") {
  const Workplace place("one");
  place.write("job.yaml", scenario());
  const auto run = place.run(
      "run job.yaml --json r.json --ddp-json d.json --trace t.json --csv r.csv --svg t.svg");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.starts_with("test: resnet50, 4 GPUs, batch 32 per GPU, ddp\n"));
  const Json json = Json::parse(place.text("r.json"));
  CHECK(json["schema"] == "gradwire.result/1");
  CHECK(json["world_size"] == 4);
  double sum = 0;
  for (const auto& part : json["breakdown_s"]) sum += part.get<double>();
  const double mean = json["iteration_time_s"]["mean"].get<double>();
  CHECK(std::abs(sum - mean) < 1e-9);
  CHECK(json["throughput_samples_per_s"].get<double>() == Approx(4 * 32 / mean));
  // 4 ranks x 4 iterations
  const Json ddp = Json::parse(place.text("d.json"));
  CHECK(ddp["benchmark_results"][0]["result"][1]["measurements"].size() == 16);
  const Json trace = Json::parse(place.text("t.json"));
  CHECK(trace["traceEvents"].size() > 161);
  CHECK(place.text("t.svg").starts_with("<svg "));
  CHECK(place.text("r.csv").starts_with("label,"));
}

TEST_CASE("A bracket is as wide as what lies between fluid and coupled", "[cli][run]") {
  const Workplace place("bracket");
  place.write("job.yaml", scenario());
  const auto result = [&](const std::string& fidelity) {
    CHECK(place.run("run job.yaml --json r.json --set run.fidelity=" + fidelity).code == 0);
    return Json::parse(place.text("r.json"));
  };
  const Json bracket = result("bracket");
  CHECK(bracket["fidelity"]["used"] == "fluid");
  CHECK_THAT(bracket["fidelity"]["why"].get<std::string>(),
             Catch::ContainsSubstring("bracket: coupled takes "));
  for (const Json& one : {result("fluid"), result("coupled")}) {
    const Json& time = one["iteration_time_s"];
    CHECK(bracket["iteration_time_s"]["low"].get<double>() <= time["p50"].get<double>());
    CHECK(bracket["iteration_time_s"]["high"].get<double>() >= time["p50"].get<double>());
  }
}

TEST_CASE("An elastic job tells each phase and each change, in text and JSON",
          "[cli][run][elastic]") {
  const Workplace place("elastic");
  place.write("job.yaml",
              scenario("elastic: {schedule: \"2:10,4:20,4:5,1:10\", worker_start: 3 s}\n"));
  const std::string server = " --set 'strategy={name: kungfu_sync, config_server: http://x/}'";
  const auto run = place.run("run job.yaml --json r.json" + server);
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("\nElastic "));
  const Json json = Json::parse(place.text("r.json"));
  REQUIRE(json["results"].size() == 4);
  const Json& elastic = json["elastic"];
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& phase = elastic["phases"][i];
    CHECK(phase["workers"] == json["results"][i]["world_size"]);
    const double step = json["results"][i]["iteration_time_s"]["mean"];
    CHECK(phase["time_s"].get<double>() == Approx(phase["steps"].get<int>() * step));
    sum += phase["time_s"].get<double>();
  }
  for (const Json& change : elastic["changes"]) sum += change["time_s"].get<double>();
  CHECK(elastic["total_s"].get<double>() == Approx(sum));
  const Json& changes = elastic["changes"];
  REQUIRE(changes.size() == 3);
  // Who joins is waited for, and the model goes to it; the same workers change nothing; who stays
  // is not waited for.
  CHECK(changes[0]["joined"] == 2);
  CHECK(changes[0]["join_s"].get<double>() > 3);
  CHECK(changes[0]["join_s"].get<double>() < 4);
  CHECK(changes[1]["time_s"] == 0);
  CHECK(changes[2]["left"] == 3);
  CHECK(changes[2]["join_s"].get<double>() > 0);
  CHECK(changes[2]["join_s"].get<double>() < 1);
}

TEST_CASE("Only 'run' follows a schedule of workers", "[cli][run][elastic]") {
  const Workplace place("elastic_only_run");
  place.write("job.yaml", scenario("elastic: {schedule: \"2:10,1:20\"}\n"));
  const std::string server = " --set 'strategy={name: kungfu_sync, config_server: http://x/}'";
  for (const std::string command :
       {"compare job.yaml --json r.json",
        "sweep job.yaml --json r.json --set 'vary={run.seed: [1, 2]}'"}) {
    const auto run = place.run(command + server);
    INFO(command << run.err);
    CHECK(run.code == 3);
    CHECK_THAT(run.err, Catch::ContainsSubstring(
                            "'elastic' is for 'gradwire run'; expected a scenario without it"));
    CHECK_FALSE(place.has("r.json"));
  }
}

TEST_CASE("Where nobody states how many ports machines have, a run tells if its time hangs on it",
          "[cli][run]") {
  const Workplace place("ports");
  place.write("job.yaml",
              "schema: gradwire.scenario/1\n"
              "profile: {model: llama2_7b, gpu: h100-sxm5-80gb, dtype: bf16, sequence_length: "
              "1024, batch_per_gpu: 1}\n"
              "cluster: {node: hgx_h100, nodes: 2, fabric: {kind: single_switch, link: ib_ndr}}\n"
              "strategy: {name: fsdp}\nrun: {iterations: 3, ignore_memory: true}\n");
  const auto told = [&](const std::string& change) {
    return place.run("run job.yaml --set " + change).out.find("(ports-assumed)") !=
           std::string::npos;
  };
  CHECK(told("run.seed=1"));
  CHECK(!told("cluster.fabric.links_per_node=8"));
  CHECK(!told("cluster.fabric.links_per_node=2"));
  CHECK(!told("cluster.node=p5"));           // has the ports that its cloud gives it
  CHECK(!told("profile.batch_per_gpu=16"));  // its compute is the wider doubt
  CHECK(!told("cluster.nodes=1"));
}

TEST_CASE(
    "Where nobody states what a host carries between GPUs, a run tells if its time hangs on it",
    "[cli][run]") {
  const Workplace place("staging");
  place.write("job.yaml",
              "schema: gradwire.scenario/1\n"
              "profile: {model: vgg16, gpu: rtx4090, dtype: fp32, batch_per_gpu: 8}\n"
              "cluster: {node: pcie4_8x_rtx4090, gpus_per_node: 2, peer_to_peer: none}\n"
              "strategy: {name: ddp}\nrun: {iterations: 3}\n");
  const auto told = [&](const std::string& change) {
    return place.run("run job.yaml --set " + change).out.find("(staging-assumed)") !=
           std::string::npos;
  };
  CHECK(told("run.seed=1"));
  CHECK(!told("cluster.staged_bandwidth='15 GB/s'"));
  CHECK(!told("cluster.peer_to_peer=socket"));
  CHECK(!told("cluster.gpus_per_node=1"));
}

TEST_CASE("One GPU alone is as efficient as itself", "[cli][run]") {
  const Workplace place("alone");
  const std::string start =
      "schema: gradwire.scenario/1\n"
      "cluster: {node: hgx_h100, gpus_per_node: 1}\n"
      "run: {iterations: 2, warmup: 1}\n"
      "jitter: {iteration: 0 %, layer: 0 %}\n";
  const auto efficiency = [&](const std::string& profile, const std::string& strategy) {
    place.write("job.yaml", start + "profile: " + profile + "\nstrategy: " + strategy + "\n");
    CHECK(place.run("run job.yaml --json r.json").code == 0);
    return Json::parse(place.text("r.json"))["scaling_efficiency"].get<double>();
  };
  // Accumulation counts the samples of all its passes; a job that is bound by launches takes in the
  // replay what its profile says.
  CHECK(efficiency("resnet50/v100-sxm2-32gb_fp32_b32", "{name: none, grad_accumulation: 4}") ==
        Approx(1).epsilon(0.01));
  CHECK(efficiency("{model: bert_large, gpu: h100-sxm5-80gb, batch_per_gpu: 2, dtype: bf16}",
                   "{name: none}") == Approx(1).epsilon(1e-3));
}

TEST_CASE("Points print the benchmark's table and one entry each in the files", "[cli][run]") {
  const Workplace place("points");
  place.write("job.yaml", scenario(points));
  const auto run = place.run("run job.yaml --json r.json --ddp-json d.json --csv r.csv");
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("Benchmark: resnet50 with batch size 32\n\n"));
  for (const char* row :
       {"\n   1 GPUs --   no ddp:  p50:  0.", "\n   1 GPUs --    1M/1G:  p50:  0.",
        "\n   4 GPUs --    1M/4G:  p50:  0."}) {
    CHECK_THAT(run.out, Catch::ContainsSubstring(row));
  }
  const Json json = Json::parse(place.text("r.json"));
  CHECK(json["schema"] == "gradwire.results/1");
  CHECK(json["results"][2]["label"] == "1M/4G");
  const Json ddp = Json::parse(place.text("d.json"));
  CHECK(ddp["benchmark_results"][0]["result"].size() == 3);
  const std::string csv = place.text("r.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  // A file against itself: no row differs.
  const auto diff = place.run("diff d.json r.json");
  CHECK(diff.code == 0);
  CHECK_THAT(diff.out, Catch::ContainsSubstring("   4 GPUs:  p75:    0."));
  CHECK_THAT(diff.out, Catch::ContainsSubstring("     -0.0%  p95:"));
}

TEST_CASE("One point can be run alone", "[cli][run]") {
  const Workplace place("point");
  place.write("job.yaml", scenario(points));
  const auto run = place.run("run job.yaml --point 1M/4G");
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("test [1M/4G]: resnet50, 4 GPUs"));
  CHECK(place.run("run job.yaml --point 1M/8G").code == 3);
}

TEST_CASE("The same command gives the same files, byte for byte", "[cli][run]") {
  const Workplace place("same");
  place.write("job.yaml", scenario("jitter: {iteration: 2 %}\n"));
  CHECK(place.run("run job.yaml --csv a.csv --ddp-json a.json").code == 0);
  CHECK(place.run("run job.yaml --csv b.csv --ddp-json b.json").code == 0);
  CHECK(place.text("a.csv") == place.text("b.csv"));
  CHECK(place.text("a.json") == place.text("b.json"));
}

TEST_CASE("A collective prints the table of nccl-tests and none beats its bound",
          "[cli][collective]") {
  const Workplace place("collective");
  place.write("job.yaml", scenario());
  const std::string operation = GENERATE("all_reduce", "broadcast");
  const auto run =
      place.run("collective job.yaml --sizes 1MiB:64MiB:x8 --json c.json --op " + operation);
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("#       size         count      type   redop"));
  const Json json = Json::parse(place.text("c.json"));
  CHECK(json["schema"] == "gradwire.collective/1");
  CHECK(json["ranks"] == 4);
  REQUIRE(json["rows"].size() == 3);
  double before = 0;
  for (const Json& row : json["rows"]) {
    CHECK(row["time_us"].get<double>() >= row["bound_us"].get<double>());
    CHECK(row["time_us"].get<double>() > before);
    before = row["time_us"].get<double>();
  }
}

TEST_CASE("A run prints what ACP-SGD's scripts print", "[cli][run][acpsgd]") {
  const Workplace place("acpsgd");
  place.write("job.yaml", scenario());
  // ResNet-50: 25 557 032 gradients of 4 bytes; what is in P's buffers and in Q's adds up to P, Q.
  const auto run =
      place.run("run job.yaml --set 'strategy={preset: acpsgd/acpsgd}' --format acpsgd");
  CHECK(run.code == 0);
  CHECK(run.out.starts_with("Memory (MB) Grad: 97.49, P: "));
  CHECK(run.out.find("\nIteraction time: ") != std::string::npos);
  // DDP has no factors.
  CHECK(
      place.run("run job.yaml --format acpsgd").out.starts_with("Model: resnet50\nFP16: False\n"));
  const auto times = place.run("run job.yaml --format acpsgd-comm-time");
  CHECK(times.code == 0);
  CHECK(times.out.starts_with("# of Ms: 161, # of elements: 25557032\nTime (ms) of Ms: "));
}

}  // namespace
}  // namespace gradwire
