#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

TEST_CASE("compare runs each strategy as run does, and DDP in any case", "[cli][compare]") {
  const Workplace place("compare");
  place.write("s.yaml", scenario());
  const auto run = place.run(
      "compare s.yaml --strategies 'wfbp,ddp(bucket_cap=1 MiB),pytorch_ddp/default' "
      "--json c.json --csv c.csv --svg c.svg");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  const Json results = Json::parse(place.text("c.json"))["results"];
  REQUIRE(results.size() == 4);
  CHECK(place.run("run s.yaml --set strategy.name=wfbp --json w.json").code == 0);
  CHECK(place.run("run s.yaml --set 'strategy.bucket_cap=1 MiB' --json d.json").code == 0);
  for (const Json& result : results) {
    if (result["label"] == "wfbp") {
      const Json alone = Json::parse(place.text("w.json"));
      CHECK(result["iteration_time_s"] == alone["iteration_time_s"]);
      CHECK(alone["exactness"] == "exact");
    }
    if (result["label"] == "ddp(bucket_cap=1 MiB)") {
      CHECK(result["iteration_time_s"] == Json::parse(place.text("d.json"))["iteration_time_s"]);
    }
  }
  CHECK_THAT(run.out, Catch::ContainsSubstring("baseline"));
  CHECK_THAT(place.text("c.svg"), Catch::ContainsSubstring("</svg>"));
  const std::string csv = place.text("c.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
}

TEST_CASE("compare tells efficiency over the point with the fewest GPUs that hold the job",
          "[cli][compare]") {
  const Workplace place("compare_efficiency");
  // ZeRO-3's 16 bytes of 6.7e9 parameters fit in 8 and 16 GPUs of 80 GB, not in 1; DDP's nowhere
  place.write("s.yaml", R"(schema: gradwire.scenario/1
name: s
profile: {model: llama2_7b, gpu: h100-sxm5-80gb, batch_per_gpu: 1, dtype: bf16, sequence_length: 512}
cluster: {node: hgx_h100, nodes: 2, fabric: {kind: rail}}
strategy: {name: fsdp2, param_dtype: bf16}
jitter: {iteration: 0 %, layer: 0 %}
run: {iterations: 1, warmup: 1, seed: 1}
points:
  - {label: one, cluster.nodes: 1, cluster.gpus_per_node: 1}
  - {label: few, cluster.nodes: 1}
  - {label: many}
)");
  const auto run = place.run("compare s.yaml --strategies fsdp2 --json c.json --csv c.csv");
  CHECK(run.code == 0);
  CHECK(place.run("run s.yaml --json r.json --csv r.csv").code == 1);  // "one" does not fit
  const Json compared = Json::parse(place.text("c.json"))["results"];
  const Json ran = Json::parse(place.text("r.json"))["results"];
  CHECK(ran[2]["efficiency_over"]["world_size"] == 8);
  CHECK(compared[0]["label"] == "fsdp2");
  CHECK(compared[0]["efficiency_over"] == ran[2]["efficiency_over"]);
  for (const char* file : {"c.csv", "r.csv"}) {
    CHECK_THAT(place.text(file), Catch::ContainsSubstring(",efficiency_over.world_size,"));
  }
}

TEST_CASE("compare speaks of one GPU as of one", "[cli][compare]") {
  const Workplace place("compare_one");
  place.write("s.yaml", scenario());
  const auto run = place.run(
      "compare s.yaml --strategies ddp --set cluster.nodes=1 --set cluster.gpus_per_node=1");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::StartsWith("resnet50 on 1 GPU, 32 a GPU\n"));
}

TEST_CASE("compare groups what does not differ significantly, and marks what is not exact",
          "[cli][compare]") {
  const Workplace place("compare_groups");
  place.write("s.yaml", scenario());
  const auto run =
      place.run("compare s.yaml --strategies bsp,lb_sgd,none,ddp+fp16 --json c.json --csv c.csv");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("\nGroups: "));
  const Json results = Json::parse(place.text("c.json"))["results"];
  REQUIRE(results.size() == 5);
  int grouped = 0;
  for (const Json& result : results) {
    const std::string label = result["label"];
    INFO(label);
    CHECK(result["exactness"] == (label == "ddp" || label == "bsp" ? "exact"
                                  : label == "ddp+fp16"            ? "lossy"
                                                                   : "stale"));
    CHECK(result.contains("group") == (label != "none"));
    CHECK(result.contains("beats_baseline") == (label != "none" && label != "ddp"));
    if (result.contains("group")) grouped = std::max(grouped, result["group"].get<int>());
  }
  CHECK(grouped >= 1);
  CHECK_THAT(place.text("c.csv"), Catch::ContainsSubstring(",group,beats_baseline,"));
}

TEST_CASE("compare bounds a speed-up by runs whose compute is off by the profile's error",
          "[cli][compare]") {
  const Workplace place("compare_bounds");
  place.write("s.yaml", scenario());
  const auto compared = [&](const std::string& sets) {
    CHECK(place.run("compare s.yaml --strategies wfbp --json c.json" + sets).code == 0);
    const Json results = Json::parse(place.text("c.json"))["results"];
    return results[results[0]["label"] == "wfbp" ? 0 : 1];
  };
  // The profile's iteration is 93.867 ms.
  const auto mean_at = [&](double factor, const std::string& sets) {
    const std::string time = std::to_string(93.867 * factor) + " ms";
    CHECK(place
              .run("run s.yaml --set strategy.name=wfbp --set 'profile={file: "
                   "resnet50/v100-sxm2-32gb_fp32_b32, iteration_time: " +
                   time + "}' --json r.json" + sets)
              .code == 0);
    return Json::parse(place.text("r.json"))["iteration_time_s"]["mean"].get<double>();
  };
  const auto bounds = [](const Json& row) {
    const double error = row["at_compute"]["error"].get<double>();
    CHECK(error > 0);
    return std::vector<std::pair<double, double>>{
        {1 + error, row["at_compute"]["slower_s"].get<double>()},
        {1 / (1 + error), row["at_compute"]["faster_s"].get<double>()}};
  };

  SECTION("by whole runs where iterations vary") {
    const std::string varied = " --set 'jitter={iteration: 3 %}'";
    for (const auto& [factor, bound] : bounds(compared(varied))) {
      CHECK(bound == Approx(mean_at(factor, varied)).epsilon(1e-6));
    }
  }
  SECTION("where they hardly do, by what an iteration with the same draws takes more or less") {
    const std::string one = " --set run.iterations=1";
    for (const auto& [factor, bound] : bounds(compared(""))) {
      const double ratio = mean_at(factor, one) / mean_at(1, one);
      CHECK(bound == Approx(mean_at(1, "") * ratio).epsilon(1e-6));
      // That of whole runs is the same to a tenth of the last digit of a speed-up.
      CHECK(bound == Approx(mean_at(factor, "")).epsilon(1e-3));
    }
  }
}

TEST_CASE(
    "compare puts the scenario's compression under all that can have it, and tells the others",
    "[cli][compare]") {
  const Workplace place("compare_compression");
  place.write("s.yaml", scenario());
  CHECK(place
            .run("compare s.yaml --set strategy.compression.name=fp16 --strategies "
                 "wfbp,powersgd,wfbp+signsgd --json c.json")
            .code == 0);
  const auto bytes = [&](const std::string& name) {
    const Json results = Json::parse(place.text("c.json"))["results"];
    for (const Json& row : results) {
      if (row["label"] != name) continue;
      const Json& warnings = row["warnings"];
      const bool left_out = !warnings.empty() && warnings[0]["code"] == "compression-left-out";
      CHECK(left_out == (name == "powersgd"));
      return row["communication"]["bytes_per_rank"].get<double>();
    }
    return 0.0;
  };
  // 25.557 million parameters; a ring of 4 sends 2 * 3/4 of them, of 2 bytes each. Signs: 1 bit, an
  // all-gather of 4 parts sends 3.
  CHECK(bytes("wfbp") == Approx(1.5 * 2 * 25.557e6).epsilon(1e-3));
  // DDP also broadcasts its buffers, 0.2 MB.
  CHECK(bytes("ddp") == Approx(bytes("wfbp") + 212.7e3).epsilon(1e-4));
  CHECK(bytes("wfbp+signsgd") == Approx(3 * 25.557e6 / 8).epsilon(1e-2));
  CHECK(bytes("powersgd") > 0);
  CHECK_THAT(
      place.run("compare s.yaml --set strategy.compression.name=fp16 --strategies powersgd").out,
      Catch::ContainsSubstring("Notes:\n  powersgd: runs without the scenario's compression: "
                               "'powersgd' compresses by itself\n"));
}

TEST_CASE("compare gives the same bytes with any number of workers", "[cli][compare]") {
  const Workplace place("compare_workers");
  place.write("s.yaml", scenario());
  const std::string command = "compare s.yaml --strategies wfbp,bsp,ddp -j ";
  CHECK(place.run(command + "1").out == place.run(command + "3").out);
}

TEST_CASE(
    "compare runs 4 iterations after 2 where the scenario says nothing, asynchronous workers 20 "
    "after 5",
    "[cli][compare]") {
  const Workplace place("compare_default_run");
  std::string text = scenario();
  text.erase(text.find("run:"));
  place.write("s.yaml", text);
  const auto times = [&](const std::string& run) {
    CHECK(place.run("compare s.yaml --strategies ddp,ps_async --json c.json" + run).code == 0);
    std::map<std::string, Json> of;
    const Json table = Json::parse(place.text("c.json"));
    for (const Json& row : table["results"]) {
      of[row["label"]] = row["iteration_time_s"];
    }
    return of;
  };
  auto open = times("");
  CHECK(open["ddp"] == times(" --set run.iterations=4 --set run.warmup=2")["ddp"]);
  CHECK(open["ps_async"] == times(" --set run.iterations=20 --set run.warmup=5")["ps_async"]);
}

TEST_CASE("What is misspelt ends compare with 3 and writes nothing", "[cli][compare]") {
  const Workplace place("compare_misspelt");
  place.write("s.yaml", scenario());
  const auto check = [&](const std::string& arguments, const std::string& message) {
    const auto run = place.run("compare " + arguments + " --csv c.csv");
    INFO(run.err);
    CHECK(run.code == 3);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, Catch::ContainsSubstring(message));
    CHECK_FALSE(place.has("c.csv"));
  };
  check("s.yaml --strategies dpd", "--strategies:1:1: 'dpd' is no strategy and no preset");
  check("s.yaml --strategies wfbp,,ddp", "--strategies:1:6: an empty name");
  check("s.yaml --strategies wfbp,wfbp", "--strategies:1:6: 'wfbp' is there twice");
  check("s.yaml --strategies 'wfbp,ddp(bucket_cup=1 MiB)'",
        "--strategies:1:10: unknown key 'bucket_cup'");
  check("s.yaml --strategies 'ddp(bucket_cap=25)'", "--strategies:1:16: ");
  check("s.yaml --strategies 'ddp(bucket_cap'", "has no closing parenthesis");
  check("s.yaml --strategies 'ddp(bucket_cap)'", "'bucket_cap' sets no knob");
  check("s.yaml --strategies ddp+fp16+bf16", "--strategies:1:10: a second compression");
  check("s.yaml --set profil=x", "unknown key 'profil'");
  check("s.yaml --point none", "there are no points; expected no --point 'none'");
}

TEST_CASE("compare takes the point with the most ranks, or that of the label", "[cli][compare]") {
  const Workplace place("compare_points");
  place.write("s.yaml", scenario("points:\n"
                                 "  - {label: four}\n"
                                 "  - {label: two, cluster.gpus_per_node: 2}\n"));
  CHECK_THAT(place.run("compare s.yaml --strategies ddp").out,
             Catch::ContainsSubstring("on 4 GPUs"));
  CHECK_THAT(place.run("compare s.yaml --strategies ddp --point two").out,
             Catch::ContainsSubstring("on 2 GPUs"));
}

TEST_CASE("run prints the lines of an original's benchmark", "[cli][run]") {
  const Workplace place("formats");
  place.write("s.yaml", scenario("jitter: {iteration: 0 %, layer: 0 %}\n"));
  const auto lines = place.run("run s.yaml --set run.iterations=20 --format horovod");
  CHECK(lines.code == 0);
  CHECK_THAT(lines.out, Catch::ContainsSubstring("Iter #1: "));
  CHECK_THAT(lines.out, Catch::ContainsSubstring("Total img/sec on 4 GPU(s): "));
  CHECK_THAT(place.run("run s.yaml --format kungfu").out, Catch::ContainsSubstring("RESULT: "));
  CHECK(place.run("run s.yaml --format horovot").code == 2);
}

TEST_CASE("The option --env tells of a variable that the strategy does not read", "[cli][run]") {
  const Workplace place("env");
  place.write("s.yaml", scenario());
  const auto run = place.run("run s.yaml --env HOROVOD_CYCLE_TIME=1");
  CHECK(run.code == 0);
  CHECK_THAT(run.out + run.err,
             Catch::ContainsSubstring("'HOROVOD_CYCLE_TIME' has no effect here: it is of horovod"));
  const auto misspelt = place.run("run s.yaml --env HOROVOD_CICLE_TIME=1");
  CHECK(misspelt.code == 3);
  CHECK_THAT(misspelt.err, Catch::StartsWith("--env HOROVOD_CICLE_TIME=1:1:1: ") &&
                               Catch::ContainsSubstring("did you mean 'HOROVOD_CYCLE_TIME'?"));
}

}  // namespace
}  // namespace gradwire
