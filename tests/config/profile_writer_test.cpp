#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/profile/profile_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::config {
namespace {

Percentiles percentiles(double base) {
  std::vector<Seconds> samples;
  for (int i = 1; i <= 7; ++i) samples.emplace_back(base * i * 1e-9);
  return percentiles_of(samples);
}

/// A profile with everything that a recording can say.
RecordedProfile full() {
  RecordedProfile recorded;
  ComputeProfile& profile = recorded.profile;
  profile.model = "toy";
  profile.gpu = "gpu";
  profile.batch_per_gpu = 4;
  profile.dtype = "fp32";
  profile.source = {"recorded", "tool: 1", "a.json", "2026-11-21", "said \"so\"; and\nmore"};
  profile.iteration = Seconds{1.5e-3};
  profile.gpu_busy = Seconds{1.25e-3};
  profile.factor_stdev = 0.0025;
  profile.optimizer = Seconds{1e-4};
  profile.optimizer_bytes_per_parameter = Bytes{20};
  profile.host_launch = Seconds{5.5e-6};
  profile.buffers = 3;
  profile.buffer_elements = 13;
  profile.buffer_bytes = Bytes{60};
  profile.layers.push_back({"a",
                            "conv3",
                            Seconds{587.125e-6},
                            Seconds{1e-4},
                            0.0029,
                            7.5e9,
                            {{"a.weight", {6, 3, 3, 3}, Seconds{3e-4}}}});
  profile.layers.push_back({"1 odd: name",
                            "linear",
                            Seconds{0},
                            Seconds{2e-4},
                            0,
                            0,
                            {{"b.weight", {10}, {}}, {"null", {2, 5}, {}}}});
  profile.registration = {2, 0, 1};
  profile.gradient_order = {0, 2, 1};
  profile.overlap = {{"conv3", 1.05}};
  RecordedExtras& extras = recorded.recording;
  extras.uninstrumented = percentiles(1000);
  extras.period = percentiles(2000);
  extras.gpu_busy = percentiles(500);
  extras.factor = IterationFactor{0.0025, -0.25, 0.995, 1.006};
  extras.layers = {{percentiles(10), percentiles(20)}, {percentiles(30), percentiles(40)}};
  extras.checks = {182, 3, 0.99, 0.95, 0.01, 1.02, 1.0, 1.0, 0, 2, "gpu"};
  return recorded;
}

TEST_CASE("A written profile is read back, percentiles and checks with it", "[config][profile]") {
  const RecordedProfile written = full();
  const std::string text = write_profile(written, std::vector<std::string>{"made up"});
  CHECK(text.starts_with("# made up\nschema: gradwire.compute_profile/1\n"));
  const RecordedProfile read = read_recorded_profile(parse_yaml(text, "p.yaml"));
  CHECK(read.profile.source.notes == written.profile.source.notes);
  CHECK(read.profile.layers[0].forward.count() == Approx(587.125e-6).epsilon(1e-9));
  CHECK(read.profile.layers[0].flops == 7.5e9);
  CHECK(read.profile.layers[1].name == "1 odd: name");
  CHECK(read.profile.layers[1].parameters[1].name == "null");
  CHECK(read.profile.registration == written.profile.registration);
  CHECK(read.profile.gradient_order == written.profile.gradient_order);
  CHECK(read.profile.buffer_elements == 13);
  CHECK(read.profile.buffer_bytes == Bytes{60});
  REQUIRE(read.recording.factor);
  CHECK(read.recording.factor->lag1 == -0.25);
  REQUIRE(read.recording.period);
  CHECK(read.recording.period->count == 7);
  CHECK(read.recording.period->p99.count() == Approx(14e-6));
  REQUIRE(read.recording.layers.size() == 2);
  CHECK(read.recording.layers[1].backward.p5.count() == Approx(40e-9));
  CHECK(read.recording.checks == written.recording.checks);
  // Nothing is lost or changed by another turn.
  CHECK(write_profile(read, std::vector<std::string>{"made up"}) == text);
}

TEST_CASE("Every shipped profile survives being written", "[config][profile]") {
  const std::filesystem::path folder =
      std::filesystem::path(GRADWIRE_SOURCE_DIR) / "profiles" / "resnet50";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    const RecordedProfile shipped = read_recorded_profile(load_yaml(entry.path().string()));
    const std::string text = write_profile(shipped);
    const RecordedProfile again = read_recorded_profile(parse_yaml(text, "again.yaml"));
    CHECK(write_profile(again) == text);
    CHECK(again.profile.tensor_count() == shipped.profile.tensor_count());
    CHECK(again.profile.gradient_order == shipped.profile.gradient_order);
    CHECK(again.profile.backward().count() == Approx(shipped.profile.backward().count()));
    CHECK(again.recording.checks == shipped.recording.checks);
  }
}

TEST_CASE("Percentiles and checks are refused where they are misspelt", "[config][profile]") {
  const std::string text = write_profile(full());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return [changed] { static_cast<void>(read_profile(parse_yaml(changed, "p.yaml"))); };
  };
  CHECK_THROWS_WITH(with("closure_gpu", "closure_cpu")(),
                    Catch::ContainsSubstring("unknown key 'closure_cpu'") &&
                        Catch::ContainsSubstring("did you mean 'closure_gpu'?"));
  CHECK_THROWS_WITH(with("p25:", "p20:")(), Catch::ContainsSubstring("p25"));
  CHECK_THROWS_WITH(with("lag1: -0.2500", "lag1: 2")(), Catch::ContainsSubstring("lag1"));
  CHECK_THROWS_WITH(with("bound: gpu", "bound: cpu")(),
                    Catch::ContainsSubstring("'bound' is 'cpu'"));
  CHECK_THROWS_WITH(with("{name: a,", "{name: a, percentiles: {},")(),
                    Catch::ContainsSubstring("percentiles"));
}

}  // namespace
}  // namespace gradwire::config
