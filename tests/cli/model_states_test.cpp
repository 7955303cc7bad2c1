#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

TEST_CASE("ZeRO's stages keep what Rajbhandari et al. count, of a model of the profile's type",
          "[cli][memory]") {
  const Workplace place("zero_memory");
  place.write("s.yaml", R"(schema: gradwire.scenario/1
name: s
profile: {model: gpt2, gpu: h100-sxm5-80gb, batch_per_gpu: 1, optimizer: adam, dtype: bf16}
cluster: {node: hgx_h100, nodes: 1}
strategy: {name: deepspeed}
jitter: {iteration: 0 %, layer: 0 %}
run: {iterations: 1, warmup: 1, seed: 1}
)");
  // Figure 1 of "ZeRO" (SC 2020): 2 bytes a parameter, 2 a gradient, K = 12 of Adam's, on 8 ranks.
  const int stage = GENERATE(1, 2, 3);
  const double weights = stage > 2 ? 2.0 / 8 : 2;
  const double gradients = stage > 1 ? 2.0 / 8 : 2;
  const double parameters = 124'439'808;
  CHECK(place.run("run s.yaml --json r.json --set strategy.stage=" + std::to_string(stage)).code ==
        0);
  const Json memory = Json::parse(place.text("r.json"))["memory_bytes"];
  CHECK(memory["weights"].get<double>() == Approx(weights * parameters));
  CHECK(memory["gradients"].get<double>() == Approx(gradients * parameters));
  CHECK(memory["optimizer"].get<double>() == Approx(12.0 / 8 * parameters));
}

}  // namespace
}  // namespace gradwire
