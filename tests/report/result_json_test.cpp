#include "sim/report/result_json.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

TEST_CASE("gradwire.result/1 has every key of its description", "[report][json]") {
  Point point = make_point("", 16, {{0.1, 16}});
  point.result.warnings = {{"outside-calibrated-range", "16 ranks"}};
  const auto json = result_json(point);
  CHECK(json["schema"] == "gradwire.result/1");
  for (const char* key : {"gradwire_version", "scenario", "scenario_sha256", "world_size",
                          "global_batch", "throughput_samples_per_s", "throughput_per_gpu",
                          "single_gpu_throughput", "scaling_efficiency", "profile_source"}) {
    CHECK(json.contains(key));
  }
  const std::vector<std::pair<const char*, std::vector<const char*>>> objects = {
      {"iteration_time_s", {"mean", "p50", "p75", "p90", "p95", "low", "high"}},
      {"breakdown_s",
       {"forward", "backward", "optimizer", "overlap_slowdown", "exposed_communication",
        "encode_decode", "copies", "host", "straggler_wait", "other"}},
      {"communication", {"collectives", "bytes_per_rank", "busy_s", "overlap_fraction"}},
      {"fidelity", {"used", "why"}},
      {"engine",
       {"solver", "simgrid", "plan_s", "run_s", "total_s", "peak_memory", "iterations_run", "links",
        "flows", "link_classes", "flow_classes"}}};
  for (const auto& [name, keys] : objects) {
    CHECK(json[name].size() == keys.size());
    for (const char* key : keys) CHECK(json[name].contains(key));
  }
  CHECK(json["links"][0] == nlohmann::ordered_json{{"name", "node0.nic0.up"},
                                                   {"utilisation", 0.25},
                                                   {"bytes", 1'500'000'000}});
  CHECK(json["warnings"][0]["code"] == "outside-calibrated-range");
  CHECK(json["scenario"]["strategy"]["bucket_cap"] == "25 MiB");
  CHECK(json["global_batch"] == 512);
  CHECK_FALSE(json.contains("label"));
}

TEST_CASE("gradwire.results/1 lists the points with their labels", "[report][json]") {
  const std::vector<Point> points = {make_point("no ddp", 1, {{0.1, 1}}),
                                     make_point("1M/2G", 2, {{0.1, 2}})};
  const auto json = results_json(points);
  CHECK(json["schema"] == "gradwire.results/1");
  REQUIRE(json["results"].size() == 2);
  CHECK(json["results"][0]["label"] == "no ddp");
  CHECK(json["results"][1]["label"] == "1M/2G");
  CHECK(json["results"][1]["schema"] == "gradwire.result/1");
}

}  // namespace
}  // namespace gradwire
