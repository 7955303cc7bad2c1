#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

class ProfileFixture : public ConfigFixture {
 public:
  ProfileFixture() {
    std::ifstream file(GRADWIRE_SOURCE_DIR
                       "/tests/config/data/profiles/tiny/small-gpu_fp32_b4.yaml");
    text_ = {std::istreambuf_iterator<char>(file), {}};
  }

  /// Reads the profile with `from` replaced by `to`.
  [[nodiscard]] ComputeProfile with(const std::string& from, const std::string& to) const {
    std::string changed = text_;
    changed.replace(changed.find(from), from.size(), to);
    return read_profile(parse_yaml(changed, "p.yaml"));
  }

 private:
  std::string text_;
};

}  // namespace

TEST_CASE_METHOD(ProfileFixture, "a profile is read in full", "[config][profile]") {
  const ComputeProfile profile = with("model: tiny", "model: tiny");
  CHECK(profile.batch_per_gpu == 4);
  CHECK(profile.source.kind == "recorded");
  CHECK(profile.iteration.count() == Approx(10e-3));
  CHECK(profile.gpu_busy.count() == Approx(9.5e-3));
  CHECK(profile.factor_stdev == Approx(0.004));
  CHECK(profile.optimizer_bytes_per_parameter == Bytes{20});
  CHECK(profile.host_launch.count() == Approx(12e-6));
  CHECK(profile.buffers == 3);
  CHECK(profile.buffer_elements == 9);
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].stdev == Approx(0.003));
  CHECK(profile.layers[0].parameters[0].shape == std::vector<std::int64_t>{4, 3, 3, 3});
  CHECK(profile.layers[0].parameters[0].ready->count() == Approx(6e-3));
  CHECK(profile.gradient_order == std::vector<TensorId>{2, 1, 0});
  CHECK(profile.overlap == std::map<std::string, double>{{"conv3", 1.05}});
  // 4*3*3*3 + 10*4 + 10
  CHECK(profile.parameter_count() == 158);
}

TEST_CASE_METHOD(ProfileFixture, "a profile says which weight two layers share",
                 "[config][profile]") {
  const auto parameters = with("name: fc.weight", "shared: true, name: fc.weight");
  CHECK(tensors_of(parameters).at(1).shared);
  CHECK_FALSE(tensors_of(parameters).at(0).shared);
}

TEST_CASE_METHOD(ProfileFixture, "a profile without a gradient order has registration reversed",
                 "[config][profile]") {
  CHECK(with("gradient_order: [fc.bias, fc.weight, conv.weight]\n", "").gradient_order ==
        std::vector<TensorId>{2, 1, 0});
}

TEST_CASE_METHOD(ProfileFixture, "a gradient order must name each parameter once",
                 "[config][profile]") {
  const std::string order = "[fc.bias, fc.weight, conv.weight]";
  CHECK_THROWS_WITH(with(order, "[fc.bias, fc.wieght, conv.weight]"),
                    "p.yaml:14:27: 'fc.wieght' is no parameter of the layers; expected each "
                    "parameter once; did you mean 'fc.weight'?");
  CHECK_THROWS_WITH(
      with(order, "[fc.bias, fc.bias, conv.weight]"),
      Catch::ContainsSubstring("p.yaml:14:27: 'fc.bias' stands twice; expected each"));
  CHECK_THROWS_WITH(with(order, "[fc.bias, fc.weight]"),
                    "p.yaml:14:17: 'conv.weight' is missing; expected each parameter once, 3 in "
                    "all");
  CHECK_THROWS_WITH(with("name: fc.weight", "name: fc.bias"),
                    "p.yaml:12:3: parameter 'fc.bias' stands in two places; expected each name "
                    "once");
}

TEST_CASE_METHOD(ProfileFixture, "an iteration cannot be shorter than its parts",
                 "[config][profile]") {
  // forward 1 + 2 ms, backward 2 + 3 ms, optimizer 1 ms: 9 ms
  CHECK_THROWS_WITH(with("p50: 10 ms, gpu_busy: 9.5 ms", "p50: 8 ms"),
                    "p.yaml:7:18: 'p50' is shorter than its parts; expected at least 9 ms, what "
                    "forward, backward and optimizer take");
  CHECK_THROWS_WITH(with("gpu_busy: 9.5 ms", "gpu_busy: 10.5 ms"),
                    "p.yaml:7:35: 'gpu_busy' is longer than the iteration; expected at most 'p50'");
}

TEST_CASE_METHOD(ProfileFixture, "buffers have an element each, and bytes that elements can have",
                 "[config][profile]") {
  const std::string buffers = "{tensors: 3, elements: 9}";
  CHECK(with(buffers, "{tensors: 3, elements: 9, bytes: 40 B}").buffer_bytes == Bytes{40});
  CHECK(with(buffers, buffers).buffer_bytes == Bytes{0});
  CHECK_THROWS_WITH(with(buffers, "{tensors: 300, elements: 1}"),
                    "p.yaml:9:35: 'elements' is '1'; expected a whole number, at least 300, at "
                    "most 1e+15");
  CHECK_THROWS_WITH(with(buffers, "{tensors: 3, elements: 9223372036854775807}"),
                    Catch::ContainsSubstring("at least 3, at most 1e+15"));
  // From a byte (bool) to 16 (complex128)
  const std::string size = GENERATE("8 B", "145 B");
  CHECK_THROWS_WITH(with(buffers, "{tensors: 3, elements: 9, bytes: " + size + "}"),
                    Catch::ContainsSubstring(", at least 9 B, at most 144 B"));
}

TEST_CASE_METHOD(ProfileFixture, "shapes, kinds and slowdowns are checked", "[config][profile]") {
  CHECK_THROWS_WITH(
      with("shape: [10, 4]", "shape: [10, 0]"),
      Catch::ContainsSubstring("'shape' is '0'; expected a whole number, at least 1"));
  CHECK_THROWS_WITH(with("kind: linear", "kind: liner"),
                    "p.yaml:13:22: 'kind' is 'liner'; expected one of conv1, conv3, conv7, "
                    "grouped_conv, linear, norm, act, add, pool, embed, softmax, other; did you "
                    "mean 'linear'?");
  CHECK_THROWS_WITH(with("conv3: 1.05", "conv3: 0.9"),
                    "p.yaml:15:18: 'conv3' is '0.9'; expected a number, at least 1");
  CHECK_THROWS_WITH(with("forward: 1 ms", "forward: 1"),
                    "p.yaml:12:40: 'forward' is '1', without a unit; expected a time such as '20 "
                    "us' (units s, ms, us, ns)");
}

TEST_CASE_METHOD(ProfileFixture, "GPU, batch, type and iteration stand together",
                 "[config][profile]") {
  const std::string whole = "gpu: small-gpu\nbatch_per_gpu: 4\ndtype: fp32\n";
  CHECK_FALSE(with(whole, whole).is_shape());
  CHECK_THROWS_WITH(with("iteration:", "iterations:"),
                    Catch::ContainsSubstring("missing key 'iteration'"));
  CHECK_THROWS_WITH(with(whole, ""), Catch::ContainsSubstring("missing key 'gpu'"));
}

TEST_CASE("a GPU description is read in full", "[config][gpu]") {
  const GpuSpec gpu =
      read_gpu(load_yaml(GRADWIRE_SOURCE_DIR "/tests/config/data/profiles/gpus/small-gpu.yaml"));
  CHECK(gpu.name == "small-gpu");
  CHECK(gpu.multiprocessors == 10);
  CHECK(gpu.memory_bandwidth.count() == Approx(100e9));
  CHECK(gpu.memory_efficiency == Approx(0.8));
  CHECK(gpu.kernel_overhead.count() == Approx(2e-6));
  CHECK(gpu.peak_flops.at("fp32") == Approx(1e12));
}
