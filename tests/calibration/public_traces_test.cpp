#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/checks.hpp"
#include "calibration/attribution/collectives.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/import/kineto.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

// Public traces kept beside the repository; not everybody has them.

namespace gradwire::calibration {
namespace {

const std::filesystem::path root = GRADWIRE_SOURCE_DIR;
const char* const v100 = "hta_ns_resolution_trace_rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
const char* const a100 = "hta_nccl_parser_config_nccl_data.json.gz";
const char* const v100_old =
    "tb_plugin_samples_resnet50_num_workers_4_worker0.1623212756351.pt.trace.json.gz";

std::string published(const std::string& name) {
  return gradwire::test::shared("data/traces/" + name).string();
}

RecordedProfile shipped() {
  return config::read_recorded_profile(
      config::load_yaml((root / "profiles/resnet50/v100-sxm2-32gb_fp32_b32.yaml").string()));
}

/// The shipped profile's layers without times; `flatten` runs nothing on the GPU.
ProfileSubject resnet50() {
  ProfileSubject subject;
  subject.frame = shipped().profile;
  for (LayerProfile& layer : subject.frame->layers) {
    layer.forward = layer.backward = Seconds{};
    layer.stdev = 0;
    for (ParameterSpec& parameter : layer.parameters) parameter.ready.reset();
  }
  subject.model = "resnet50";
  subject.gpu = "v100-sxm2-32gb";
  subject.batch_per_gpu = 32;
  subject.dtype = "fp32";
  return subject;
}

TEST_CASE("The V100 trace of ResNet-50 has 175 layers that close", "[calibration][published]") {
  const std::string file = published(v100);
  if (gradwire::test::skipped_without(file)) return;
  const Attribution attribution = attribute(read_kineto(file));
  CHECK(attribution.layers.size() == 175);
  CHECK(attribution.iterations.size() == 5);
  CHECK(attribution.unlinked == 0);
  const StepSummary summary = summarise(attribution);
  const RecordingChecks checks = checks_of(attribution, summary);
  CHECK(*checks.closure_gpu >= 0.99);
  CHECK(*checks.closure_gpu <= 1.0);
  CHECK(*checks.other < 0.002);
  CHECK(failures(checks, summary).empty());
  CHECK(host_bound(summary).empty());
  // The shipped profile's notes: 2 concatenations and 159 copies for the buffers, 161
  // multiplications into buckets, 161 copies back.
  CHECK(summary.wrapper_records == 2 + 159 + 161 + 161);
}

TEST_CASE("The V100 trace gives the shipped profile again", "[calibration][published]") {
  const std::string file = published(v100);
  if (gradwire::test::skipped_without(file)) return;
  const RecordedProfile expected = shipped();
  const ComputeProfile made = fit_trace(read_kineto(file), resnet50()).recorded.profile;
  REQUIRE(made.layers.size() == expected.profile.layers.size());
  for (std::size_t i = 0; i < made.layers.size(); ++i) {
    const LayerProfile& layer = made.layers[i];
    const LayerProfile& other = expected.profile.layers[i];
    CAPTURE(layer.name);
    // The file is rounded to 0.1 us.
    CHECK(std::abs((layer.forward - other.forward).count()) <= 0.0501e-6);
    CHECK(std::abs((layer.backward - other.backward).count()) <= 0.0501e-6);
    // ... and to 0.01 per cent; where kernels are few, its residuals were divided by the median,
    // ours by the mean.
    CHECK(std::abs(layer.stdev - other.stdev) <= 6e-4);
    for (std::size_t p = 0; p < layer.parameters.size(); ++p) {
      // Rounded to 0.1 us; two layers of a downsampling end within 0.4 us of each other.
      CHECK(std::abs((*layer.parameters[p].ready - *other.parameters[p].ready).count()) <= 0.4e-6);
    }
  }
  CHECK(made.gradient_order == expected.profile.gradient_order);
  CHECK(std::abs((made.optimizer - expected.profile.optimizer).count()) < 0.5e-6);
  CHECK(std::abs((made.host_launch - expected.profile.host_launch).count()) < 0.5e-6);
  CHECK(made.factor_stdev == Approx(expected.profile.factor_stdev).margin(5e-5));
  // The file's iteration is the host's step, 95.551 ms, ours the GPU's period, 95.664 ms; both less
  // the wrapper's copies.
  CHECK(made.iteration / expected.profile.iteration == Approx(1).epsilon(0.0015));
  CHECK(made.gpu_busy / expected.profile.gpu_busy == Approx(1).epsilon(0.0015));
}

TEST_CASE("The A100 trace holds PyTorch's five buckets of ResNet-50", "[calibration][published]") {
  const std::string file = published(a100);
  if (gradwire::test::skipped_without(file)) return;
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> broadcasts;
  for (const TracedCollective& collective : collectives_of(read_kineto(file))) {
    CHECK(collective.ranks == 2);
    CHECK(collective.algorithm == "ring");
    CHECK(collective.protocol == "ll");
    if (collective.kind == CollectiveKind::all_reduce) {
      elements.push_back(collective.elements);
    } else {
      broadcasts.push_back(collective.elements);
    }
  }
  // Of that trace: 25 MiB buckets, sum 25 557 032 floats, three steps; two broadcasts of
  // buffers each.
  const std::vector<std::int64_t> buckets = {2049000, 7875584, 6563840, 6637568, 2431040};
  REQUIRE(elements.size() == 3 * buckets.size());
  for (std::size_t i = 0; i < elements.size(); ++i) CHECK(elements[i] == buckets[i % 5]);
  CHECK(broadcasts == std::vector<std::int64_t>{53120, 53, 53120, 53, 53120, 53});
}

TEST_CASE("The A100 trace is refused as an iteration time, and taken with one",
          "[calibration][published]") {
  const std::string file = published(a100);
  if (gradwire::test::skipped_without(file)) return;
  const Trace trace = read_kineto(file);
  ProfileSubject subject = resnet50();
  subject.gpu = "a100-sxm4-40gb";
  subject.dtype = "tf32";
  CHECK_THROWS_WITH(fit_trace(trace, subject),
                    Catch::ContainsSubstring("host-bound: the GPU is busy 18 %") &&
                        Catch::ContainsSubstring("of the 220 ms from one iteration to the next"));
  subject.iteration = Seconds{39.3e-3};
  const ProfileFit fit = fit_trace(trace, subject);
  // make_profile.py's figure for the middle step: 12.518 ms.
  CHECK(fit.recorded.profile.forward() / Seconds{12.518e-3} == Approx(1).epsilon(2e-3));
}

TEST_CASE("A trace of PyTorch 1.8.1 is attributed by its sequence numbers",
          "[calibration][published]") {
  const std::string file = published(v100_old);
  if (gradwire::test::skipped_without(file)) return;
  const Trace trace = read_kineto(file);
  const Attribution attribution = attribute(trace);
  CHECK(attribution.layers.size() == 175);
  CHECK(attribution.iterations.size() == 6);
  // Kinds come from its shapes: one 7 x 7, 16 of 3 x 3, 36 of 1 x 1 (torchvision's ResNet-50).
  int conv1 = 0;
  int conv3 = 0;
  int conv7 = 0;
  std::int64_t parameters = 0;
  for (const AttributedLayer& layer : attribution.layers) {
    conv1 += layer.kind == "conv1" ? 1 : 0;
    conv3 += layer.kind == "conv3" ? 1 : 0;
    conv7 += layer.kind == "conv7" ? 1 : 0;
    for (const ParameterSpec& parameter : layer.parameters) parameters += parameter.elements();
  }
  CHECK(conv1 == 36);
  CHECK(conv3 == 16);
  CHECK(conv7 == 1);
  CHECK(parameters == 25'557'032);
  // It loads data in each step, so the GPU waits: 102 of 128 ms.
  CHECK_THAT(host_bound(summarise(attribution)), Catch::ContainsSubstring("80 %"));
}

}  // namespace
}  // namespace gradwire::calibration
