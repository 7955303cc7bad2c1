#include "calibration/fit/profile_fit.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "calibration/fit/profile_report.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

using test::toy_trace;
using test::ToyOptions;
using test::us;

// Times are those of toy_step()'s comment.

ProfileSubject subject() {
  ProfileSubject subject;
  subject.model = "toy";
  subject.gpu = "made-up-gpu";
  subject.batch_per_gpu = 8;
  subject.dtype = "fp32";
  subject.source.kind = "imported";
  return subject;
}

/// The toy as a model knows it; `with_act` adds a layer that was not recorded.
ComputeProfile frame(bool with_act = false) {
  ComputeProfile frame;
  frame.model = "toy";
  frame.layers.push_back({"stem", "conv3", {}, {}, 0, 0, {{"stem.weight", {6, 3, 3, 3}, {}}}});
  frame.layers.push_back(
      {"norm", "norm", {}, {}, 0, 0, {{"norm.weight", {6}, {}}, {"norm.bias", {6}, {}}}});
  if (with_act) frame.layers.push_back({"act", "act", {}, {}, 0, 0, {}});
  frame.layers.push_back(
      {"head", "linear", {}, {}, 0, 0, {{"head.weight", {10, 96}, {}}, {"head.bias", {10}, {}}}});
  frame.gradient_order = {4, 3, 1, 2, 0};
  frame.buffers = 3;
  frame.buffer_bytes = Bytes{40};
  return frame;
}

Workload workload() {
  Workload workload;
  workload.model = "toy";
  workload.gpu = "made-up-gpu";
  workload.batch_per_gpu = 8;
  workload.dtype = "fp32";
  workload.parameters = {{"conv.weight", {6, 3, 3, 3}, {}},
                         {"bn.weight", {6}, {}},
                         {"bn.bias", {6}, {}},
                         {"fc.weight", {10, 96}, {}},
                         {"fc.bias", {10}, {}}};
  return workload;
}

ProfileSource recorded() {
  ProfileSource source;
  source.kind = "recorded";
  return source;
}

Trace full_recording(int steps = 8) {
  ToyOptions options;
  options.modules = true;
  return toy_trace(steps, options);
}

Trace light_recording() {
  Trace light = full_recording();
  light.ranges.clear();
  light.calls.clear();
  return light;
}

TEST_CASE("A trace takes names and tensors from the model, times from its kernels",
          "[calibration][fit]") {
  ProfileSubject of = subject();
  of.frame = frame();
  const ProfileFit fit = fit_trace(toy_trace(6), of);
  const ComputeProfile& profile = fit.recorded.profile;
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[0].name == "stem");
  CHECK(profile.layers[0].forward / Seconds{120e-6} == Approx(1));
  CHECK(profile.layers[2].backward / Seconds{126e-6} == Approx(1));
  REQUIRE(profile.layers[1].parameters[0].ready);
  CHECK(*profile.layers[1].parameters[0].ready / Seconds{170e-6} == Approx(1));
  CHECK(profile.gradient_order == std::vector<TensorId>{4, 3, 1, 2, 0});
  CHECK(profile.buffers == 3);
  CHECK(profile.buffer_bytes == Bytes{40});
  CHECK(profile.iteration / Seconds{547e-6} == Approx(1));
  CHECK(profile.gpu_busy / Seconds{547e-6} == Approx(1));
  CHECK(fit.recorded.recording.checks.tensors == 5);
  CHECK(*fit.recorded.recording.checks.closure_gpu == Approx(1));
  CHECK(fit.recorded.recording.checks.bound == "gpu");
}

TEST_CASE("What the model has more than the trace is reported, with parameters it is refused",
          "[calibration][fit]") {
  ProfileSubject of = subject();
  of.frame = frame(true);
  const ProfileFit fit = fit_trace(toy_trace(6), of);
  CHECK(fit.recorded.profile.layers[2].forward == Seconds{});
  REQUIRE_FALSE(fit.notes.empty());
  CHECK(fit.notes[0] == "the model's layer 3 'act' (act) was not recorded");
  of.frame->layers[2].parameters = {{"act.weight", {6}, {}}};
  CHECK_THROWS_WITH(
      fit_trace(toy_trace(6), of),
      Catch::ContainsSubstring("the trace has no layer for 'act', which has parameters"));
}

TEST_CASE("A trace of another model is refused with the first differences", "[calibration][fit]") {
  ProfileSubject of = subject();
  of.frame = frame();
  of.frame->layers[2].kind = "embed";
  // The linear layer is 186 of 547 us.
  CHECK_THROWS_WITH(fit_trace(toy_trace(6), of),
                    Catch::ContainsSubstring("the trace is not of 'toy': 0.2 ms of its layers") &&
                        Catch::ContainsSubstring("recorded layer 3 'linear.1' (linear) is none"));
}

TEST_CASE("Shapes that differ from the model's are no match", "[calibration][fit]") {
  ToyOptions options;
  options.shapes = true;
  ProfileSubject of = subject();
  of.frame = frame();
  CHECK(fit_trace(toy_trace(6, options), of).recorded.profile.layers.size() == 3);
  of.frame->layers[0].parameters[0].shape = {6, 3, 5, 5};
  CHECK_THROWS_WITH(fit_trace(toy_trace(6, options), of),
                    Catch::ContainsSubstring("the trace is not of 'toy'"));
}

TEST_CASE("Without a model the shapes give the tensors, without shapes there are none",
          "[calibration][fit]") {
  ToyOptions options;
  options.shapes = true;
  const ProfileFit fit = fit_trace(toy_trace(6, options), subject());
  CHECK(fit.recorded.profile.parameter_count() == 162 + 12 + 960 + 10);
  CHECK(fit.recorded.profile.layers[0].parameters[0].name == "conv2d.1.weight");
  const ProfileFit bare = fit_trace(toy_trace(6), subject());
  CHECK(bare.recorded.profile.tensor_count() == 0);
  CHECK(bare.recorded.profile.backward() == fit.recorded.profile.backward());
  CHECK(std::ranges::any_of(bare.notes, [](const std::string& note) {
    return note.starts_with("no parameters: the trace has no shapes");
  }));
}

TEST_CASE("Copies of the wrapper and lonely communication are taken out of the iteration",
          "[calibration][fit]") {
  ToyOptions options;
  options.wrapper = true;
  ProfileSubject of = subject();
  of.frame = frame();
  const ProfileFit fit = fit_trace(toy_trace(7, options), of);
  // 547 us of layers, loss and optimizer; 15 us of copies and 500 us of an all-reduce alone.
  CHECK(fit.recorded.profile.gpu_busy / Seconds{547e-6} == Approx(1));
  CHECK(fit.recorded.profile.iteration / Seconds{547e-6} == Approx(1).epsilon(1e-3));
}

TEST_CASE("A host-bound trace gives no iteration time, but takes one", "[calibration][fit]") {
  ToyOptions options;
  options.host_pause = 2000 * us;
  ProfileSubject of = subject();
  of.frame = frame();
  CHECK_THROWS_WITH(fit_trace(toy_trace(6, options), of),
                    Catch::StartsWith("made-up: host-bound: the GPU is busy 2") &&
                        Catch::EndsWith("--iteration '97 ms'"));
  of.iteration = Seconds{600e-6};
  const ProfileFit fit = fit_trace(toy_trace(6, options), of);
  CHECK(fit.recorded.profile.iteration == Seconds{600e-6});
  CHECK(fit.recorded.recording.checks.bound == "gpu");  // 547 of 600
  of.iteration = Seconds{500e-6};
  CHECK_THROWS_WITH(fit_trace(toy_trace(6, options), of),
                    Catch::ContainsSubstring("an iteration of 0.500 ms is shorter than its parts"));
}

namespace {

/// The toy's trace with a loss that takes longer by so much.
Trace with_loss(Nanoseconds longer) {
  Trace trace = toy_trace(6);
  Nanoseconds shift = 0;
  for (DeviceRecord& record : trace.device) {
    record.start += shift;
    if (trace.names[record.name] == "loss") shift += longer;
    record.end += shift;
  }
  return trace;
}

}  // namespace

TEST_CASE("Work outside the layers is reported above 3 %, and fails the profile above 10 %",
          "[calibration][fit]") {
  ProfileSubject of = subject();
  of.frame = frame();
  const auto told = [&](Nanoseconds longer) {
    for (const std::string& note : fit_trace(with_loss(longer), of).notes) {
      if (note.starts_with("other is ")) return note.substr(0, note.find(':'));
    }
    return std::string();
  };
  CHECK(told(0).empty());                                            // 11 of 547 us
  CHECK(told(20 * us) == "other is 0.055; expected at most 0.030");  // 31 of 567
  // 16.6 of 552.6 us, 3.004 %
  CHECK(told(5'600) == "other is 0.03004; expected at most 0.030");
  // 71 of 607 us
  CHECK_THROWS_WITH(
      fit_trace(with_loss(60 * us), of),
      Catch::ContainsSubstring("other is 0.117; expected at most 0.100: share of the busy time"));
}

TEST_CASE("A recorded workload gives names, ready times, orders and all checks",
          "[calibration][fit]") {
  const std::vector<Seconds> bare(20, Seconds{545e-6});
  const Trace light = light_recording();
  const ProfileFit fit = fit_recording(workload(), bare, &light, full_recording(), recorded());
  const ComputeProfile& profile = fit.recorded.profile;
  const RecordingChecks& checks = fit.recorded.recording.checks;
  REQUIRE(profile.layers.size() == 3);
  CHECK(profile.layers[2].name == "fc");
  REQUIRE(profile.layers[2].parameters.size() == 2);
  CHECK(*profile.layers[2].parameters[1].ready / Seconds{130e-6} == Approx(1));
  CHECK(profile.registration.empty());
  // fc.bias, fc.weight, bn.weight, bn.bias, conv.weight
  CHECK(profile.gradient_order == std::vector<TensorId>{4, 3, 1, 2, 0});
  CHECK(profile.iteration == Seconds{545e-6});
  CHECK(*checks.light_vs_full == Approx(547.0 / 545));
  CHECK(*checks.full_vs_light == Approx(1));
  CHECK(*checks.param_bytes == 1);
  CHECK(*checks.dropped == 0);
  CHECK(fit.recorded.recording.layers.size() == 3);
  CHECK_THAT(profile_report(fit), Catch::ContainsSubstring("light_vs_full   1.0037"));
}

TEST_CASE(
    "Of a recording that the host bounds, launches take the share that the iteration took of it",
    "[calibration][fit]") {
  // The recorder's cost is in each launch: 2 ms of waiting make the recording the host's.
  ToyOptions options;
  options.modules = true;
  options.host_pause = 2000 * us;
  const auto launch = [&](double microseconds) {
    const std::vector<Seconds> bare(20, Seconds{1e-6 * microseconds});
    return fit_recording(workload(), bare, nullptr, toy_trace(5, options), recorded())
        .recorded.profile.host_launch;
  };
  CHECK(launch(1000) > Seconds{0});
  CHECK(launch(1000) / launch(800) == Approx(1000.0 / 800));
  CHECK(launch(9000) / launch(5000) == Approx(1));  // longer than the recording's: as recorded
}

TEST_CASE("Parameters that are registered elsewhere than they run keep both orders",
          "[calibration][fit]") {
  Workload other = workload();
  std::rotate(other.parameters.begin(), other.parameters.begin() + 3, other.parameters.end());
  const ProfileFit fit = fit_recording(other, {}, nullptr, full_recording(), recorded());
  const auto tensors = tensors_of(fit.recorded.profile);
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    CHECK(tensors[id].name == other.parameters[id].name);
  }
  // By name still fc.bias, fc.weight, bn.weight, bn.bias, conv.weight.
  CHECK(fit.recorded.profile.gradient_order == std::vector<TensorId>{1, 0, 3, 4, 2});
}

TEST_CASE("A slow recorder, lost records and missing gradients fail the profile",
          "[calibration][fit]") {
  const Trace light = light_recording();
  // 547 over 500 us
  CHECK_THROWS_WITH(fit_recording(workload(), std::vector<Seconds>(9, Seconds{500e-6}), &light,
                                  full_recording(), recorded()),
                    Catch::ContainsSubstring("light_vs_full is 1.094; expected at most 1.030"));
  Trace lossy = full_recording();
  lossy.dropped = 3;
  CHECK_THROWS_WITH(fit_recording(workload(), {}, &light, lossy, recorded()),
                    Catch::ContainsSubstring("dropped is 3; expected 0"));
  Workload more = workload();
  more.parameters.push_back({"fc.extra", {100}, {}});
  // 1144 of 1244
  CHECK_THROWS_WITH(fit_recording(more, {}, &light, full_recording(), recorded()),
                    Catch::ContainsSubstring("param_bytes is 0.920; expected 1.00 to 1.00"));
  more.parameters.back().name = "nowhere";
  CHECK_THROWS_WITH(fit_recording(more, {}, &light, full_recording(), recorded()),
                    Catch::ContainsSubstring("parameter 'nowhere' belongs to no layer"));
  Trace slow = full_recording();
  for (DeviceRecord& record : slow.device) record.end += (record.end - record.start) / 20;
  CHECK_THROWS_WITH(fit_recording(workload(), {}, &light, slow, recorded()),
                    Catch::ContainsSubstring("full_vs_light is 1.050; expected 0.98 to 1.02"));
}

}  // namespace
}  // namespace gradwire::calibration
