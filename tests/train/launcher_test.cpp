#include "sim/train/launcher.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// Two layers with a tensor each; `tied` makes the last layer's gradient ready with the first's.
ComputeProfile profile(bool tied) {
  ComputeProfile p;
  p.iteration = Seconds{10};
  p.optimizer = Seconds{1};
  p.host_launch = Seconds{0.01};
  p.overlap = {{"conv3", 1.5}};
  p.layers.resize(2);
  const std::vector<std::string> names = {"a", "b"};
  const std::vector<std::string> kinds = {"conv3", "norm"};
  for (std::size_t i = 0; i < 2; ++i) {
    auto& layer = p.layers[i];
    layer.name = names[i];
    layer.kind = kinds[i];
    layer.forward = Seconds{1};
    layer.backward = Seconds{2};
    layer.parameters.push_back({.name = layer.name + ".w", .shape = {3}, .ready = {}});
  }
  p.gradient_order = tied ? std::vector<TensorId>{0, 1} : std::vector<TensorId>{1, 0};
  return p;
}

std::vector<LaunchStep> script_of(const ComputeProfile& p, int micro_batches) {
  return launch_script(p, data_parallel_program(p, micro_batches));
}

}  // namespace

TEST_CASE("the launcher runs forward, backward in reverse, then the optimizer", "[launcher]") {
  const auto script = script_of(profile(false), 1);
  std::vector<std::string> names;
  for (const auto& step : script) names.push_back(step.name);
  CHECK(names == std::vector<std::string>{"between iterations", "forward a", "forward b",
                                          "backward b", "backward a", "optimizer", "end"});
  // What neither the parts nor the first launch, for which the device waits, explain: host and
  // device wait together.
  CHECK(script[0].item.seconds == Approx(10 - 1 - 2 - 4 - 0.01));
  CHECK(script[1].host == Approx(3 - 0.01 + 0.01));
  CHECK(script[2].host == Approx(0.01));
  CHECK(script[1].item.slowdown == 1.5);
  CHECK(script[2].item.slowdown == std::nullopt);  // by what communication takes of the memory
  CHECK(script[2].item.bound == Bound::memory);
  CHECK(script[3].hooks == std::vector<TensorId>{1});
  CHECK(script[4].backward_done);
}

TEST_CASE("layers and the optimizer take the host their own launches", "[launcher]") {
  ComputeProfile own = profile(false);
  own.layers[1].launches = LaunchTimes{.forward = Seconds{3}, .backward = Seconds{4}};
  own.optimizer_launch = Seconds{5};
  own.iteration = own.launch_bound();
  const auto script = script_of(own, 1);
  CHECK(script[0].item.seconds == 0);  // launches bound the iteration: nothing is left between
  CHECK(script[1].host == Approx(0.01));
  CHECK(script[2].host == 3);
  CHECK(script[3].host == 4);
  CHECK(script[4].host == Approx(0.01));
  // The optimizer's kernels start at once, and the host is done with it 5 later.
  CHECK(script[5].item.part == Part::optimizer);
  CHECK(script[5].host == 0);
  CHECK(script[6].host == 5);
  CHECK(script[6].item.seconds == 0);
}

TEST_CASE("where the host reads whether gradients are finite the optimizer is launched behind that",
          "[launcher]") {
  ComputeProfile own = profile(false);
  own.optimizer_launch = Seconds{5};
  own.unscale = Seconds{0.5};
  own.iteration = own.launch_bound();
  const auto script = script_of(own, 1);
  REQUIRE(script.size() == 9);
  CHECK(script[5].name == "unscale gradients");
  CHECK(script[6].item.part == Part::optimizer);
  // The device has the optimizer's kernels for `optimizer` of the 5 that the host takes, which it
  // begins when the gradients are unscaled.
  CHECK(script[5].item.seconds == 0.5);
  CHECK(script[7].item.seconds == Approx(5 - own.optimizer.count()));
  CHECK_FALSE(script[7].item.device);
  // A share of the model has that share of all three.
  CHECK(unscale_item(own, 0.25).seconds == Approx(0.125));
  CHECK(late_launch_item(own, 0.25).seconds == Approx(0.25 * 5));
  // No wait where the device takes longer than the host.
  own.optimizer = Seconds{6};
  CHECK(script_of(own, 1)[7].item.seconds == 0);
}

TEST_CASE("a thread that waits for gradients launches the step once it sees that they are there",
          "[launcher]") {
  ComputeProfile own = profile(false);
  own.optimizer_launch = Seconds{5};
  const auto names_of = [](const std::vector<LaunchStep>& script) {
    std::vector<std::string> names;
    for (const auto& step : script) names.push_back(step.name);
    return names;
  };
  const Program program = data_parallel_program(own, 1);
  const auto late = launch_script(own, program, true, Seconds{0.5});
  REQUIRE(late.size() == 9);
  CHECK(late[5].name == "sees that gradients are there");
  CHECK(late[5].item.seconds == 0.5);
  CHECK(late[6].item.part == Part::optimizer);
  // Of the 5 that the thread takes from then on, the device has kernels for 1.
  CHECK(late[7].item.seconds == Approx(5 - 1));
  CHECK_FALSE(late[7].item.device);
  CHECK(launch_script(own, program, true, Seconds{0}).size() == 8);
  // A graph's executor takes each tensor's step once its gradient is there.
  own.executor = true;
  CHECK(names_of(launch_script(own, program, true, Seconds{0.5})) == names_of(script_of(own, 1)));
}

TEST_CASE("a tied weight's hook fires where its gradient comes", "[launcher]") {
  const auto script = script_of(profile(true), 1);
  CHECK(script[3].hooks.empty());
  CHECK(script[4].hooks == std::vector<TensorId>{0, 1});
}

TEST_CASE("gradient accumulation repeats forward and backward before one optimizer step",
          "[launcher]") {
  const auto script = script_of(profile(false), 3);
  CHECK(script.size() == 1 + 3 * 4 + 2);
  CHECK(script[3 + 4].micro_batch == 1);
}

TEST_CASE("device work costs its kernels and its memory traffic", "[launcher]") {
  GpuSpec gpu;
  gpu.memory_bandwidth = BytesPerSecond{900e9};
  gpu.memory_efficiency = 0.8;
  gpu.kernel_overhead = Seconds{2e-6};
  // 3 * 2 us + 7.2 MB / (0.8 * 900 GB/s) = 6 us + 10 us
  CHECK(price({.traffic = Bytes{7'200'000}, .kernels = 3, .label = ""}, gpu) == Approx(16e-6));
  // Arithmetic goes on beside the traffic: the longer of the two counts. Of 15.7 TFLOP/s.
  gpu.peak_flops["fp32"] = 15.7e12;
  const auto with_products = [&](double seconds) {
    return price(
        {.traffic = Bytes{7'200'000}, .kernels = 3, .label = "", .flops = 15.7e12 * seconds}, gpu);
  };
  CHECK(with_products(5e-6) == Approx(16e-6));
  CHECK(with_products(20e-6) == Approx(26e-6));
}
