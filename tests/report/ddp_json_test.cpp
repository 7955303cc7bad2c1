#include "sim/report/ddp_json.hpp"

#include "sim/report/metrics.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

TEST_CASE("The benchmark's JSON has its keys, its ranks and one measurement a rank and iteration",
          "[report][ddp]") {
  const std::vector<Point> points = {make_point("no ddp", 1, {{0.097, 1}, {0.098, 1}}),
                                     make_point("1M/2G", 2, {{0.103, 2}, {0.104, 2}})};
  const auto json = ddp_json(points);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"pytorch_version", "cuda_version", "distributed_backend",
                                         "bucket_size", "benchmark_results"});
  CHECK(json["bucket_size"] == 25);
  CHECK(json["distributed_backend"] == "nccl");
  REQUIRE(json["benchmark_results"].size() == 1);
  const auto& benchmark = json["benchmark_results"][0];
  CHECK(benchmark["model"] == "resnet50");
  CHECK(benchmark["batch_size"] == 32);
  REQUIRE(benchmark["result"].size() == 2);
  CHECK(benchmark["result"][0]["ranks"] == std::vector<int>{0});
  CHECK(benchmark["result"][1]["ranks"] == std::vector<int>{0, 1});
  CHECK(benchmark["result"][1]["measurements"] == std::vector<double>{0.103, 0.103, 0.104, 0.104});
}

TEST_CASE("Without a 'no ddp' point the profile's own iteration stands in its place",
          "[report][ddp]") {
  const std::vector<Point> points = {make_point("1M/2G", 2, {{0.1, 2}})};
  const auto json = ddp_json(points);
  const auto& result = json["benchmark_results"][0]["result"];
  REQUIRE(result.size() == 2);
  CHECK(result[0]["ranks"] == std::vector<int>{0});
  CHECK(result[0]["measurements"] == std::vector<double>{0.08});
}

TEST_CASE("A large world's measurements are thinned without moving its percentiles",
          "[report][ddp]") {
  const std::vector<std::pair<double, double>> samples = {
      {0.1, 40'000}, {0.102, 15'000}, {0.11, 8'000}, {0.13, 2'536}};
  const std::vector<Point> points = {make_point("8192M/8G", 65'536, samples)};
  const auto json = ddp_json(points);
  const auto& row = json["benchmark_results"][0]["result"][1];
  CHECK(row["ranks"].size() == 65'536);
  const auto thinned = row["measurements"].get<std::vector<double>>();
  REQUIRE(thinned.size() == static_cast<std::size_t>(ddp_measurements_max));
  const PooledSamples all(points[0].result.samples, points[0].result.sample_weight);
  const PooledSamples kept(thinned, std::vector<double>(thinned.size(), 1.0));
  for (const double percent : {50, 75, 90, 95}) {
    CHECK(kept.percentile(percent) == Approx(all.percentile(percent)));
  }
}

TEST_CASE("The bucket size counts in MiB and another unit stays as written", "[report][ddp]") {
  std::vector<Point> points = {make_point("1M/2G", 2, {{0.1, 2}})};
  points[0].scenario_json =
      R"({"strategy": {"name": "ddp", "version": "1.4", "bucket_cap": "1 MB"}})";
  CHECK(ddp_json(points)["bucket_size"] == "1 MB");
  CHECK(ddp_json(points)["pytorch_version"].get<std::string>().starts_with("1.4 (gradwire "));
  points[0].scenario_json = R"({"strategy": {"name": "ddp"}})";
  CHECK(ddp_json(points)["bucket_size"] == 25);
}

}  // namespace
}  // namespace gradwire
