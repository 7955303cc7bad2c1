#include "sim/config/cluster/gpu_yaml.hpp"

#include <string>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/efficiencies_yaml.hpp"
#include "sim/models/efficiencies.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"

using namespace gradwire;
using namespace gradwire::config;
using Catch::Matchers::Contains;

namespace {

/// A GPU file with one line replaced or added.
std::string gpu_text(const std::string& extra) {
  return "schema: gradwire.gpu/1\nname: v100-sxm2-16gb\nmultiprocessors: 80\n"
         "memory_bandwidth: 900 GB/s\nmemory_efficiency: 90 %\nkernel_overhead: 2 us\n"
         "peak_flops: {fp32: 1e12}\n" +
         extra;
}

std::string table_text(const std::string& dtype) {
  return "schema: gradwire.efficiencies/1\nname: x\ndtypes:\n  fp32: " + dtype + "\n";
}

}  // namespace

TEST_CASE_METHOD(ConfigFixture, "a GPU brings the efficiencies that it names", "[config][gpu]") {
  const GpuSpec gpu = shipped_gpu("big-gpu", {});
  CHECK(gpu.architecture == "made_up");
  CHECK(gpu.memory_size == Bytes{16'000'000'000});
  const DirectedEfficiency& conv3 = gpu.efficiency.at("fp32").at("conv3");
  CHECK(conv3.forward.flops == Approx(0.5));
  CHECK(conv3.forward.memory == Approx(0.8));
  CHECK(conv3.backward.flops == Approx(0.4));
  CHECK(conv3.backward.memory == 0);
}

TEST_CASE_METHOD(ConfigFixture,
                 "'like' takes another type's shares times factors: flops where there is "
                 "arithmetic, memory where there is none",
                 "[config][gpu]") {
  const EfficiencyTable table = shipped_gpu("big-gpu", {}).efficiency.at("fp16");
  CHECK(table.at("conv3").forward.flops == Approx(0.5 * 0.5));
  CHECK(table.at("conv3").forward.memory == Approx(0.8));
  CHECK(table.at("act").forward.memory == Approx(0.9 * 0.2));
  CHECK(table.at("linear").backward.flops == Approx(0.6));  // a class of its own
}

TEST_CASE_METHOD(ConfigFixture, "mistakes in a GPU's files are reported where they stand",
                 "[config][gpu][errors]") {
  CHECK_THROWS_WITH(read_gpu(parse_yaml(gpu_text("efficiencies: made-up\n"), "g.yaml")),
                    "g.yaml:8:15: 'efficiencies' is 'made-up'; expected made_up; did you mean "
                    "'made_up'?");
  CHECK_THROWS_WITH(
      read_gpu(parse_yaml(gpu_text("links: {nvlink: nvlink2, nvlink_lanes: 4, pcie: pcie3}\n"),
                          "g.yaml")),
      "g.yaml:8:8: links are not those that topologies use for 'v100-sxm2-16gb'; expected nvlink: "
      "nvlink2, nvlink_lanes: 6, pcie: pcie3");
  CHECK_THROWS_WITH(read_gpu(parse_yaml(gpu_text("l2: {size: 72 MiB}\n"), "g.yaml")),
                    Contains("g.yaml:8:5: missing key 'bandwidth'"));
  CHECK_THROWS_WITH(
      read_gpu(parse_yaml(gpu_text("l2: {size: 72 MiB, bandwidth: 9 GB/s}\n"), "g.yaml")),
      Contains("g.yaml:8:31: 'bandwidth' is not above the memory's"));
  CHECK_THROWS_WITH(
      shipped_gpu("big-gp", {"s.yaml", 2, 7}),
      Contains("s.yaml:2:7: GPU 'big-gp' is not described") && Contains("did you mean 'big-gpu'?"));
}

TEST_CASE_METHOD(ConfigFixture, "mistakes in a table of efficiencies are reported where they stand",
                 "[config][gpu][errors]") {
  const auto read = [](const std::string& dtype) {
    return read_efficiencies(parse_yaml(table_text(dtype), "e.yaml"));
  };
  CHECK_THROWS_WITH(read("{classes: {}}"), Contains("missing key 'source'"));
  CHECK_THROWS_WITH(read("{source: x}"),
                    "e.yaml:4:9: neither 'classes' nor 'like' is given; expected one of the two");
  CHECK_THROWS_WITH(read("{source: x, classes: {conv9: {}}}"),
                    Contains("unknown key 'conv9'; expected one of stem, conv1, conv3"));
  CHECK_THROWS_WITH(read("{source: x, classes: {act: {forward: {}, backward: {memory: 90 %}}}}"),
                    Contains("neither 'flops' nor 'memory' is given"));
  CHECK_THROWS_WITH(read("{source: x, classes: {act: {forward: {memory: 0.9}}}}"),
                    Contains("'memory' is '0.9', without a unit"));
  CHECK_THROWS_WITH(read("{source: x, like: {name: made_up, dtype: fp64}}"),
                    Contains("has no type 'fp64'"));
}

TEST_CASE("'like' that goes in a circle is refused", "[config][gpu][errors]") {
  const ConfigFixture fixture;
  const std::string folder =
      std::filesystem::path(fixture.write("", "x.yaml")).parent_path().string();
  std::filesystem::create_directories(folder + "/profiles/efficiencies");
  static_cast<void>(fixture.write(table_text("{source: x, like: {name: x, dtype: fp32}}"),
                                  "profiles/efficiencies/x.yaml"));
  setenv("GRADWIRE_DATA", folder.c_str(), 1);
  const YamlValue document = load_yaml(folder + "/profiles/efficiencies/x.yaml");
  CHECK_THROWS_WITH(read_efficiencies(document), Contains("'like' goes in a circle"));
}
TEST_CASE("what is no product or convolution takes the same share in TF32 as in fp32",
          "[config][gpu]") {
  // TF32 changes products and convolutions; of depthwise ones no tensor core has a kernel. Hopper's
  // norms and pools were measured in both, with other releases of cuDNN.
  for (const std::string& name : data_names(DataKind::gpu)) {
    const GpuSpec gpu = shipped_gpu(name, {});
    if (!gpu.efficiency.contains("tf32") || !gpu.efficiency.contains("fp32")) continue;
    for (const auto& [work_class, tf32] : gpu.efficiency.at("tf32")) {
      if (is_matrix(work_class)) continue;
      if (gpu.architecture.starts_with("hopper") && (work_class == "norm" || work_class == "pool"))
        continue;
      const auto& table = gpu.efficiency.at("fp32");
      if (!table.contains(work_class)) continue;
      CAPTURE(name, work_class);
      CHECK(table.at(work_class).forward.memory == Approx(tf32.forward.memory));
      CHECK(table.at(work_class).backward.memory == Approx(tf32.backward.memory));
    }
  }
}
