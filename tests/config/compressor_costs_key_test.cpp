#include <string>
#include <variant>

#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

/// The good scenario under top-k. @param costs  value of `compressor_costs`, none when empty.
std::string compressed(const std::string& costs, const std::string& compression = "topk") {
  std::string text = ConfigFixture::good;
  const std::string strategy = R"({name: ddp, version: "1.4", bucket_cap: 25 MiB})";
  text.replace(text.find(strategy), strategy.size(),
               "{name: wfbp, compression: {name: " + compression + "}}");
  return costs.empty() ? text : text + "compressor_costs: " + costs + "\n";
}

/// A node's own times of top-k, recorded on a GPU with twice the bandwidth of small-gpu's 100 GB/s.
constexpr const char* node_costs =
    "schema: gradwire.compressor_costs/1\n"
    "tables:\n"
    "  - {compressor: topk, device: gpu, gpu: mine, memory_bandwidth: 200 GB/s, source: s,\n"
    "     below: constant, rows: [{elements: 1000000, encode: 50 us}]}\n";

/// Measured time of what one tensor of 1000 elements puts on the GPU when it is ready.
Seconds encoding(const Scenario& scenario) {
  JobView job;
  job.world_size = 2;
  job.machines = 2;
  job.machine_of = {0, 1};
  job.tensors = {{"matrix", 1000, 0, {100, 10}}};
  job.gradient_order = {0};
  const auto strategy = scenario.make_strategy(job);
  strategy->on_event(Seconds{}, IterationStart{0});
  Seconds sum;
  for (const auto& operation : strategy->on_event(Seconds{}, HookFired{.tensor = 0})) {
    if (const auto* work = std::get_if<DeviceWork>(&operation)) sum = sum + work->time;
  }
  return sum;
}

}  // namespace

TEST_CASE_METHOD(ConfigFixture, "the costs that a scenario names count before the shipped ones",
                 "[config][compression]") {
  const auto encoding_with = [&](const std::string& costs) {
    return encoding(read_scenario(write(compressed(costs)), {}).front()).count();
  };
  CHECK(encoding_with("") == Approx(7e-6));  // tests/config/data/profiles/compressors/small.yaml
  // Its GPU is further from the job's than the shipped table's: 50 us * 200 / 100.
  static_cast<void>(write(node_costs, "node.yaml"));
  CHECK(encoding_with("node.yaml") == Approx(100e-6));
  CHECK(encoding_with("small") == Approx(7e-6));
  // Of two files the one with the nearer GPU counts.
  CHECK(encoding_with("[node.yaml, small]") == Approx(7e-6));
}

TEST_CASE_METHOD(ConfigFixture,
                 "costs without the scenario's compressor are reported, and those ship",
                 "[config][compression]") {
  static_cast<void>(write(node_costs, "node.yaml"));
  const auto scenario = read_scenario(write(compressed("node.yaml", "qsgd")), {}).front();
  CHECK(encoding(scenario).count() == Approx(9e-6));
  REQUIRE(scenario.warnings.size() == 1);
  CHECK(scenario.warnings.front().code == "compressor-not-measured");
  CHECK_THAT(scenario.warnings.front().text, Catch::ContainsSubstring("no table of 'qsgd'"));
  const auto counted = read_scenario(write(compressed("node.yaml", "fp16")), {}).front();
  REQUIRE(counted.warnings.size() == 1);
  CHECK_THAT(counted.warnings.front().text, Catch::ContainsSubstring("its work is counted"));
  // gTop-k selects as top-k does.
  CHECK(read_scenario(write(compressed("node.yaml", "gtopk")), {}).front().warnings.empty());
  // Nothing is missing where nothing is compressed.
  const std::string plain = std::string(good) + "compressor_costs: node.yaml\n";
  CHECK(read_scenario(write(plain), {}).front().warnings.empty());
}

TEST_CASE_METHOD(ConfigFixture, "costs of far fewer elements than the model has are reported",
                 "[config][compression]") {
  std::string text = node_costs;
  text.replace(text.find("1000000"), 7, "1");
  text.replace(text.find("constant"), 8, "proportional");
  static_cast<void>(write(text, "node.yaml"));
  const auto scenario = read_scenario(write(compressed("node.yaml")), {}).front();
  REQUIRE(scenario.warnings.size() == 1);
  CHECK(scenario.warnings.front().code == "compressor-extrapolated");
  CHECK_THAT(scenario.warnings.front().text,
             Catch::ContainsSubstring("'topk' was measured with at most 1 elements"));
}

TEST_CASE_METHOD(ConfigFixture, "a mistake in or of a file of costs has its place",
                 "[config][compression][errors]") {
  const auto message = [&](const std::string& costs) {
    const std::string file = write(compressed(costs));
    return test::refusal_of([&] { return read_scenario(file, {}); });
  };
  const std::string at = "s.yaml:12:19: 'compressor_costs' is ";
  CHECK(message("smal") == at + "'smal'; expected one of small or a path to a .yaml file; did you "
                                "mean 'small'?");
  static_cast<void>(write(node_costs, "node.yaml"));
  CHECK(message("nod.yaml").starts_with(at + "'nod.yaml', which is not there; expected"));
  CHECK(message("[node.yaml, smal]").starts_with("s.yaml:12:31: 'compressor_costs' is 'smal'"));
  CHECK(message("{file: node.yaml}").starts_with(at));
  std::string text = node_costs;
  text.replace(text.find("topk"), 4, "topkk");
  static_cast<void>(write(text, "node.yaml"));
  CHECK_THAT(message("node.yaml"), Catch::StartsWith("node.yaml:3:18: 'compressor' is 'topkk'") &&
                                       Catch::EndsWith("did you mean 'topk'?"));
}
