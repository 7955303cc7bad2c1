#include "sim/report/profile_svg.hpp"
#include "sim/report/profile_text.hpp"
#include "sim/report/ready_curve.hpp"
#include "tests/catch.hpp"

namespace gradwire {
namespace {

LayerProfile layer(const std::string& name, double backward_ms,
                   std::vector<ParameterSpec> parameters) {
  LayerProfile layer;
  layer.name = name;
  layer.kind = "linear";
  layer.forward = Seconds{1e-3};
  layer.backward = Seconds{backward_ms * 1e-3};
  layer.parameters = std::move(parameters);
  return layer;
}

/// Backward: head (2 ms), body without parameters (3 ms), <embed> (5 ms). The head's weight is tied
/// to the embedding: it comes last.
ComputeProfile tied() {
  ComputeProfile profile;
  profile.model = "tiny";
  profile.gpu = "a-gpu";
  profile.batch_per_gpu = 4;
  profile.dtype = "fp32";
  profile.source.kind = "recorded";
  profile.layers = {layer("<embed>", 5, {{"embed.weight", {100}, {}}}), layer("body", 3, {}),
                    layer("head", 2, {{"head.weight", {700}, {}}, {"head.bias", {200}, {}}})};
  profile.gradient_order = {2, 0, 1};
  profile.iteration = Seconds{13e-3};
  return profile;
}

TEST_CASE("Gradients are ready at the end of their layer's backward, tied ones last",
          "[report][profile]") {
  const auto curve = ready_curve(tied());
  REQUIRE(curve.size() == 2);
  CHECK(curve[0].layer == "head");
  CHECK(curve[0].time.count() == Approx(2e-3));
  CHECK(curve[0].elements == 200);
  CHECK(curve[0].tensors == 1);
  CHECK(curve[1].layer == "<embed>");
  CHECK(curve[1].time.count() == Approx(10e-3));  // 2 + 3 + 5
  CHECK(curve[1].new_elements == 800);
  CHECK(curve[1].elements == 1000);
}

TEST_CASE("The text tells what is ready at each tenth of backward", "[report][profile]") {
  const std::string text = profile_text(tied());
  // 10 ms of backward: nothing at 1 ms, 200 of 1000 from 2 ms on, all at its end.
  CHECK_THAT(text,
             Catch::ContainsSubstring("      10 %      1.000            0    0.0 %        0"));
  CHECK_THAT(text,
             Catch::ContainsSubstring("      90 %      9.000          200   20.0 %        1"));
  CHECK_THAT(text,
             Catch::ContainsSubstring("     100 %     10.000         1000  100.0 %        3"));
}

TEST_CASE("The picture names the layers that bring the most, with names escaped",
          "[report][profile]") {
  const std::string svg = profile_svg(tied());
  for (const char* part : {">head<", ">&lt;embed&gt;<", "tiny on a-gpu, batch 4, fp32",
                           "time since the start of backward (ms)"}) {
    CHECK_THAT(svg, Catch::ContainsSubstring(part));
  }
  CHECK(svg.find("<embed>") == std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace gradwire
