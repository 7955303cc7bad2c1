#include <algorithm>
#include <cmath>
#include <string>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/node_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

/// ResNet-50 on one machine. @param cluster  keys beside the node's.
std::string resnet(const std::string& cluster) {
  return "schema: gradwire.scenario/1\n"
         "profile: {model: resnet50, gpu: v100-sxm2-16gb, batch_per_gpu: 32, dtype: fp32}\n"
         "cluster: {node: p3_16xlarge" +
         cluster + "}\nstrategy: {name: ddp}\n";
}

Scenario read(const std::string& text) {
  const test::ScratchFolder folder;
  return read_scenario(folder.write(text, "s.yaml"), {}).front();
}

std::string message_of(const std::string& text) {
  return test::refusal_of([&] { return read(text); });
}

const LayerProfile& layer_of(const ComputeProfile& profile, const std::string& kind) {
  for (const LayerProfile& layer : profile.layers) {
    if (layer.kind == kind && layer.forward > Seconds{0}) return layer;
  }
  throw std::runtime_error("no layer of kind " + kind);
}

/// A node of two GPUs, the second with a key. @param key  ", clock: ..."
std::string pair(const std::string& key) {
  return "schema: gradwire.node_topology/1\nname: pair\nsource: \"x\"\n"
         "host_bridges:\n  - {id: bridge0}\n"
         "gpus:\n  - {id: gpu0, model: t4}\n  - {id: gpu1, model: t4" +
         key +
         "}\npcie:\n"
         "  - {a: gpu0, b: bridge0, bandwidth: 12 GB/s, latency: 0.45 us}\n"
         "  - {a: gpu1, b: bridge0, bandwidth: 12 GB/s, latency: 0.45 us}\n";
}

NodeGraph node_of(const std::string& text) {
  return read_node(parse_yaml(text, "n.yaml"));
}

}  // namespace

TEST_CASE("a GPU's clock is that at which multiprocessors make its peak in half precision",
          "[config][clock]") {
  // Each makes a power of two of operations a cycle; data sheets round the peaks.
  constexpr double rounding = 0.02;
  int stated = 0;
  for (const std::string& name : data_names(DataKind::gpu)) {
    const GpuSpec gpu = shipped_gpu(name, {});
    if (gpu.clock <= Hertz{0}) continue;
    INFO(name);
    const double cycles = gpu.multiprocessors * gpu.clock.count();
    const double exponent =
        std::log2(gpu.peak_flops.at(gpu.peak_flops.contains("fp16") ? "fp16" : "fp32") / cycles);
    CHECK(std::abs(std::exp2(exponent - std::round(exponent)) - 1) < rounding);
    ++stated;
  }
  CHECK(stated == 44);
}

TEST_CASE("a layer's arithmetic takes as much longer as the clock is lower, its traffic does not",
          "[config][clock]") {
  const Scenario whole = read(resnet(""));
  const Scenario half = read(resnet(", clock: 765 MHz"));  // of 1530
  CHECK(half.gpu.clock_share == 0.5);
  CHECK(half.classes.others.empty());
  const Scenario quarter = read(resnet(", clock: 382.5 MHz"));
  const auto seconds = [](const Scenario& scenario, const char* kind) {
    return layer_of(*scenario.profile, kind).forward.count();
  };
  // At most twice as long; a convolution on a V100 is mostly arithmetic. At a quarter it is less
  // than four times as long: another of the library's ways may need fewer operations.
  CHECK(seconds(half, "conv3") > 1.5 * seconds(whole, "conv3"));
  CHECK(seconds(half, "conv3") < 2 * seconds(whole, "conv3"));
  CHECK(seconds(quarter, "conv3") > seconds(half, "conv3"));
  CHECK(seconds(quarter, "conv3") < 4 * seconds(whole, "conv3"));
  CHECK(seconds(half, "norm") == seconds(whole, "norm"));
  CHECK(half.profile->optimizer == whole.profile->optimizer);
  CHECK(half.gpu.peak_flops == whole.gpu.peak_flops);  // of MFU
  CHECK(read(resnet(", clock: 1530 MHz")).profile->iteration == whole.profile->iteration);
}

namespace {

/// sustained_clock() of profiles/libraries/kernels.yaml's constants, written out for `power` of at
/// least half again as much as what is fixed.
double clock_of(double power) {
  return std::min(1.0, std::cbrt((power - 0.4) / (0.82 - 0.4)));
}

}  // namespace

TEST_CASE("a power limit leaves the cube root of what switches, and less where voltage cannot fall",
          "[config][clock]") {
  const auto share = [](const std::string& limit) {
    return read(resnet(", power_limit: " + limit)).gpu.clock_share;  // of 300 W
  };
  CHECK(share("300 W") == 1);
  CHECK(share("246 W") == Approx(1));  // what iterations draw
  CHECK(share("210 W") == Approx(clock_of(0.7)));
  // From 1.5 x 40 % down the clock goes with the power: no cap stops a GPU.
  CHECK(share("180 W") == Approx(clock_of(0.6)));
  CHECK(share("90 W") == Approx(clock_of(0.6) / 2));
}

TEST_CASE("a board with less power for each multiprocessor sustains a lower clock",
          "[config][clock]") {
  const auto gpu = [](const std::string& name) { return shipped_gpu(name, {"test", 0, 0}); };
  CHECK(gpu("rtx2080ti").power_share() == 1);
  // The T4 has 70 W for 40 multiprocessors and peaks at 1590 MHz; the RTX 2080 Ti, on which their
  // efficiencies were measured, 250 W for 68, and peaks at 1545 MHz.
  const double power = 70.0 / 40 * 68 / 250;
  const double t4 = clock_of(0.6) * power / 0.6 * 1545 / 1590;
  CHECK(gpu("t4").power_share() == Approx(t4));
  CHECK(gpu("t4").sustained_flops("fp16") == Approx(t4 * 65e12));
  // Peaks at the lower clock of a PCIe board are held: 250 of 300 W are more than is drawn.
  CHECK(gpu("v100-pcie-16gb").power_share() == 1);
  // A cap on a board that does not sustain its clock takes from what it sustains.
  const NodeGraph half = node_of(pair(", power_limit: 35 W"));
  CHECK(half.device(half.gpus()[1]).clock / gpu("t4").clock == Approx(t4 / 2));
  // A clock that it would not sustain anyway changes nothing.
  GpuSpec capped = gpu("t4");
  capped.clock_share = 0.9;
  CHECK(capped.sustained_flops("fp16") == Approx(t4 * 65e12));
}

TEST_CASE("one capped GPU of a machine is a class of ranks of its own", "[config][clock]") {
  const test::ScratchFolder folder;
  const std::string node = folder.write(pair(", clock: 795 MHz"), "pair.yaml");
  const Scenario scenario = read(
      "schema: gradwire.scenario/1\n"
      "profile: {model: resnet50, gpu: t4, batch_per_gpu: 32, dtype: fp32}\n"
      "cluster: {node: " +
      node + "}\nstrategy: {name: ddp}\n");
  CHECK(scenario.classes.of_rank == std::vector<int>{0, 1});
  REQUIRE(scenario.classes.others.size() == 1);
  CHECK(scenario.classes.others[0].gpu.clock_share == 0.5);
  CHECK(scenario.classes.others[0].profile.iteration > scenario.profile->iteration);
}

TEST_CASE("a clock that makes no sense is refused at its place", "[config][clock][errors]") {
  CHECK(message_of(resnet(", clock: 1.6 GHz")) ==
        "s.yaml:3:37: 'clock' is 1600 MHz, and v100-sxm2-16gb has its peaks at 1530 MHz; expected "
        "at most that");
  CHECK(message_of(resnet(", clock: 1000")) ==
        "s.yaml:3:37: 'clock' is '1000', without a unit; expected a clock such as '1410 MHz' "
        "(units MHz, GHz)");
  CHECK(message_of(resnet(", gpu: h20, clock: 1 GHz")) ==
        "s.yaml:3:47: 'clock' is given, but the clock of the peaks of 'h20' is not known; expected "
        "a GPU whose file states it");
  CHECK(message_of(resnet(", power_limit: 301 W")) ==
        "s.yaml:3:43: 'power_limit' is 301 W, and v100-sxm2-16gb has 300 W; expected at most that");
  CHECK(message_of(resnet(", clock: 1 GHz, power_limit: 200 W")) ==
        "s.yaml:3:57: 'clock' and 'power_limit' are both given; expected one of them");
  CHECK(message_of(resnet(", clok: 1 GHz")).find("did you mean 'clock'?") != std::string::npos);
  CHECK_THROWS_WITH(node_of(pair(", clock: 2 GHz")),
                    "n.yaml:8:34: 'clock' is 2000 MHz, and t4 has its peaks at 1590 MHz; expected "
                    "at most that");
  std::string bridge = pair("");
  bridge.replace(bridge.find("{id: bridge0}"), 13, "{id: bridge0, clock: 1 GHz}");
  CHECK_THROWS_WITH(node_of(bridge),
                    "n.yaml:5:26: 'clock' is of GPUs; expected none on another device");
  const std::string capped = pair(", clock: 795 MHz");
  CHECK(write_node(node_of(capped)) == capped);
}
