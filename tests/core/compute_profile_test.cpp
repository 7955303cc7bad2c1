#include "sim/core/compute_profile.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

LayerProfile layer(const std::string& name, double forward, double backward,
                   std::vector<ParameterSpec> parameters) {
  LayerProfile layer;
  layer.name = name;
  layer.forward = Seconds{forward};
  layer.backward = Seconds{backward};
  layer.parameters = std::move(parameters);
  return layer;
}

/// Two layers with parameters around one without: 3 tensors of 6, 2 and 8 elements.
ComputeProfile small_profile() {
  ComputeProfile profile;
  profile.source.kind = "recorded";
  profile.source.notes = "by hand";
  profile.iteration = Seconds{10};
  profile.gpu_busy = Seconds{9};
  profile.optimizer = Seconds{0.5};
  profile.host_launch = Seconds{0.25};
  profile.layers = {layer("a", 1, 2, {{"a.weight", {3, 2}, Seconds{6}}, {"a.bias", {2}, {}}}),
                    layer("b", 0.5, 1, {}),
                    layer("c", 1.5, 3, {{"c.weight", {2, 2, 2}, Seconds{3}}})};
  return profile;
}

TEST_CASE("A profile's sums are those of its layers", "[core][profile]") {
  const auto profile = small_profile();
  CHECK(elements_of(profile.layers[0].parameters) == 3 * 2 + 2);
  CHECK(profile.forward() == Seconds{3});   // 1 + 0.5 + 1.5
  CHECK(profile.backward() == Seconds{6});  // 2 + 1 + 3
  // 10 - 3 - 6 - 0.5
  CHECK(profile.unattributed() == Seconds{0.5});
  CHECK(profile.parameter_count() == 6 + 2 + 8);
  CHECK(profile.tensor_count() == 3);
}

TEST_CASE("An iteration takes at least what its launches take", "[core][profile]") {
  auto profile = small_profile();
  // Launches every 0.25: the first at 0.25, then the device never waits: 0.25 + 3 + 6 + 0.5.
  CHECK(profile.launch_bound() == Seconds{9.75});
  // Every 2: the seventh, the optimizer's, at 14.
  profile.host_launch = Seconds{2};
  CHECK(profile.launch_bound() == Seconds{14.5});
  profile.host_launch = Seconds{0};
  CHECK(profile.launch_bound() == Seconds{9.5});
}

TEST_CASE("An iteration of several micro-batches repeats launches and work, not what is between",
          "[core][profile]") {
  auto profile = small_profile();
  // 0.25 until the first launch, 3 + 6 + 0.5 of work: 0.25 of the 10 is left between.
  CHECK(profile.between_iterations() == Seconds{0.25});
  CHECK(profile.iteration_of(1) == Seconds{10});
  CHECK(profile.iteration_of(2) == Seconds{19});  // 9 more of forward and backward
  // The host takes 2 a layer and direction, 1 for the optimizer: 2 x 6 x 2, then 2 of the last
  // layer's backward and 0.5 of the optimizer, beside which the host's 1 is hidden.
  for (auto& layer : profile.layers) layer.launches = LaunchTimes{Seconds{2}, Seconds{2}};
  profile.optimizer_launch = Seconds{1};
  CHECK(profile.launch_bound(2) == Seconds{26.5});
  profile.optimizer_launch = Seconds{4};  // the host is the last to end
  CHECK(profile.launch_bound(2) == Seconds{28});
  CHECK(profile.between_iterations() == Seconds{0});
  // GradScaler: 24 of launches, 2 of the last layer, 1 to unscale; only then the optimizer's 4.
  profile.unscale = Seconds{1};
  CHECK(profile.launch_bound(2) == Seconds{24 + 2 + 1 + 4});
  profile.optimizer = Seconds{7};  // its kernels run beside their launches
  CHECK(profile.launch_bound(2) == Seconds{24 + 2 + 1 + 7});
}

TEST_CASE("Unattributed time is never negative", "[core][profile]") {
  auto profile = small_profile();
  profile.iteration = Seconds{9.25};  // less than 3 + 6 + 0.5
  CHECK(profile.unattributed() == Seconds{0});
}

TEST_CASE("Tensors stand in registration order and know their layer", "[core][profile]") {
  const auto tensors = tensors_of(small_profile());
  REQUIRE(tensors.size() == 3);
  CHECK(tensors[0].name == "a.weight");
  CHECK(tensors[0].elements == 6);
  CHECK(tensors[1].name == "a.bias");
  CHECK(tensors[1].layer == 0);
  CHECK(tensors[2].name == "c.weight");
  CHECK(tensors[2].elements == 8);
  CHECK(tensors[2].layer == 2);
}

TEST_CASE("Scaling to an iteration time multiplies every time and says so", "[core][profile]") {
  // Factor 25 / 10.
  const auto scaled = scaled_to(small_profile(), Seconds{25});
  CHECK(scaled.iteration == Seconds{25});
  CHECK(scaled.gpu_busy == Seconds{22.5});
  CHECK(scaled.optimizer == Seconds{1.25});
  CHECK(scaled.host_launch == Seconds{0.625});
  CHECK(scaled.forward() == Seconds{7.5});
  CHECK(scaled.backward() == Seconds{15});
  CHECK(scaled.unattributed() == Seconds{1.25});
  CHECK(scaled.layers[0].parameters[0].ready == Seconds{15});
  CHECK(!scaled.layers[0].parameters[1].ready);
  CHECK(scaled.source.kind == "recorded");
  CHECK(scaled.source.notes == "by hand; times multiplied by 2.5000 for an iteration of 25000 ms");
}

TEST_CASE("The default gradient order is the reverse of registration", "[core][profile]") {
  CHECK(reverse_registration_order(3) == std::vector<TensorId>{2, 1, 0});
  CHECK(reverse_registration_order(0).empty());
}

}  // namespace
}  // namespace gradwire
