#include "calibration/fit/profile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/overlap.hpp"
#include "calibration/attribution/summary.hpp"
#include "calibration/fit/gradient_places.hpp"
#include "calibration/fit/layer_join.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::calibration {
namespace {

constexpr double ms_per_second = 1e3;
constexpr double us_per_second = 1e6;
constexpr double per_cent = 100;
/// Recorded time that may belong to no layer of the model; as for other work (docs/calibrate.md).
constexpr double left_over_max = 0.03;
/// How many disagreements a message shows.
constexpr std::size_t shown_max = 5;

std::string beginning_of(const std::vector<std::string>& texts) {
  const auto end = texts.begin() + static_cast<std::ptrdiff_t>(std::min(texts.size(), shown_max));
  return joined_by(std::span(texts.begin(), end), "; ");
}

/// Makes a profile of a trace that was attributed and summarised.
class Fit {
 public:
  Fit(const Trace& trace, const CheckBounds& bounds)
      : trace_(trace),
        bounds_(bounds),
        attribution_(attribute(trace)),
        summary_(summarise(attribution_)),
        checks_(checks_of(attribution_, summary_)) {
    fit_.notes = attribution_.notes;
  }

  RecordingChecks& checks() { return checks_; }

  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({trace_.file, 0, 0}, message);
  }

  void check() const {
    const std::vector<std::string> found = failures(checks_, summary_, bounds_);
    if (!found.empty()) fail(joined_by(found, "; "));
  }

  void tell_cautions() {
    for (std::string& caution : cautions(checks_, bounds_)) note(std::move(caution));
  }

  /// Layers of a model, with the recorded times.
  void take_frame(const ComputeProfile& frame) {
    const LayerJoin join = join_layers(attribution_, summary_, frame, trace_.file);
    const std::string first = beginning_of(join.disagreements);
    if (join.left_over > left_over_max * summary_.busy) {
      fail(fmt::format(
          "the trace is not of '{}': {:.1f} ms of its layers belong to none of the "
          "model's; expected the same layers in the same order ({} differences: {})",
          frame.model, ms_per_second * join.left_over.count(), join.disagreements.size(), first));
    }
    profile().layers = frame.layers;
    profile().registration = frame.registration;
    profile().gradient_order = frame.gradient_order;
    profile().buffers = frame.buffers;
    profile().buffer_elements = frame.buffer_elements;
    profile().buffer_bytes = frame.buffer_bytes;
    for (std::size_t j = 0; j < frame.layers.size(); ++j) {
      LayerProfile& layer = profile().layers[j];
      if (join.recorded[j] < 0) {
        if (!layer.parameters.empty()) {
          fail(
              fmt::format("the trace has no layer for '{}', which has parameters; expected the "
                          "layers of '{}' ({} differences: {})",
                          layer.name, frame.model, join.disagreements.size(), first));
        }
        continue;
      }
      const auto recorded = static_cast<std::size_t>(join.recorded[j]);
      take_times(recorded, layer);
      attribution_.layers[recorded].kind = layer.kind;
    }
    if (join.left_over > Seconds{}) summary_.other += join.left_over;
    for (const std::string& disagreement : join.disagreements) fit_.notes.push_back(disagreement);
    tell_guesses(join.recorded);
  }

  /// Layers as the trace names them, with the parameters that its shapes tell.
  void take_own_layers(bool parameters_from_shapes) {
    for (std::size_t i = 0; i < attribution_.layers.size(); ++i) {
      const AttributedLayer& recorded = attribution_.layers[i];
      const LayerSummary& times = summary_.layers[i];
      const bool idle = times.forward + times.backward == Seconds{};
      if (idle && recorded.parameters.empty()) continue;
      LayerProfile layer;
      layer.name = recorded.name;
      layer.kind = recorded.kind;
      layer.flops = recorded.flops;
      if (parameters_from_shapes) {
        for (ParameterSpec parameter : recorded.parameters) {
          parameter.name = layer.name + "." + parameter.name;
          layer.parameters.push_back(std::move(parameter));
        }
      }
      take_times(i, layer);
      layer_at_[i] = profile().layers.size();
      profile().layers.push_back(std::move(layer));
      fit_.recorded.recording.layers.push_back(times.recording);
    }
  }

  /// The parameters of a workload find their layers.
  void take_gradients(const Workload& workload) {
    const PlacedGradients placed =
        place_gradients(workload, attribution_, layer_at_, trace_.file, profile());
    checks_.param_bytes = placed.param_bytes;
    if (!placed.note.empty()) note(placed.note);
  }

  /// Everything that is not layers, and the time of an iteration.
  void take_rest(std::optional<Seconds> iteration) {
    ComputeProfile& made = profile();
    RecordedExtras& extras = fit_.recorded.recording;
    made.optimizer = summary_.optimizer;
    extras.period = summary_.recording.period;
    extras.gpu_busy = summary_.recording.gpu_busy;
    extras.factor = summary_.recording.factor;
    if (extras.factor) made.factor_stdev = extras.factor->stdev;
    if (iteration) {
      // The recording may have slowed the host: what counts is the iteration without it.
      checks_.closure_span = summary_.busy / *iteration;
      checks_.bound = *checks_.closure_span < bounds_.closure_span_min ? "host" : "gpu";
      if (checks_.bound == "host") {
        note(fmt::format("host-bound: the GPU is busy {:.0f} % of the iteration of {:.1f} ms",
                         per_cent * *checks_.closure_span, ms_per_second * iteration->count()));
      }
    } else if (const std::string why = host_bound(summary_, bounds_); !why.empty()) {
      fail(why +
           "; or give the time of an iteration that was not recorded with --iteration, such as "
           "--iteration '97 ms'");
    }
    take_iteration(iteration);
    made.gpu_busy = std::min(summary_.busy, made.iteration);
    made.host_launch = summary_.host_launch;
    // A recorder that made the host the bound: without it the host took no longer than the
    // iteration.
    if (iteration && summary_.period > *iteration && !host_bound(summary_, bounds_).empty()) {
      made.host_launch = *iteration / summary_.period * made.host_launch;
    }
    if (made.launch_bound() > made.iteration) {
      made.host_launch = Seconds{};
      fit_.notes.push_back(fmt::format(
          "no host time is taken over: launches of {:.0f} us a layer, the profiler's cost with "
          "them, would not fit into the iteration",
          us_per_second * summary_.host_launch.count()));
    }
    for (const auto& [kind, overlap] : overlap_slowdown(attribution_)) {
      made.overlap[kind] = overlap.slowdown;
    }
    checks_.parameters = made.parameter_count();
    checks_.tensors = made.tensor_count();
    extras.checks = checks_;
  }

  [[nodiscard]] ComputeProfile& profile() { return fit_.recorded.profile; }
  [[nodiscard]] RecordedExtras& extras() { return fit_.recorded.recording; }
  void note(std::string text) { fit_.notes.push_back(std::move(text)); }
  [[nodiscard]] ProfileFit take() { return std::move(fit_); }

 private:
  void take_times(std::size_t recorded, LayerProfile& layer) const {
    const LayerSummary& times = summary_.layers[recorded];
    layer.forward = times.forward;
    layer.backward = times.backward;
    layer.stdev = times.stdev;
    for (ParameterSpec& parameter : layer.parameters) parameter.ready = times.ready;
  }

  void tell_guesses(const std::vector<int>& joined) {
    const auto guessed = std::ranges::count_if(joined, [&](int i) {
      return i >= 0 && attribution_.layers[static_cast<std::size_t>(i)].kind_is_guess;
    });
    if (guessed > 0) {
      fit_.notes.push_back(fmt::format(
          "{} convolutions without shapes in the trace were joined by their order", guessed));
    }
  }

  void take_iteration(std::optional<Seconds> iteration) {
    ComputeProfile& made = profile();
    const Seconds parts = made.forward() + made.backward() + made.optimizer;
    made.iteration =
        iteration.value_or(summary_.period - summary_.wrapper_stream - summary_.exposed);
    if (!iteration) {
      if (summary_.wrapper_records > 0) {
        note(
            fmt::format("{} copies of DistributedDataParallel, {:.3f} ms of the stream, are taken "
                        "out of the iteration",
                        summary_.wrapper_records, ms_per_second * summary_.wrapper_stream.count()));
      }
      if (summary_.exposed > Seconds{}) {
        note(
            fmt::format("{:.3f} ms of communication with nothing beside it are taken out of the "
                        "iteration",
                        ms_per_second * summary_.exposed.count()));
      }
      made.iteration = std::max(made.iteration, parts);
    }
    if (made.iteration < parts) {
      fail(
          fmt::format("an iteration of {:.3f} ms is shorter than its parts; expected at least "
                      "{:.3f} ms, what forward, backward and optimizer take",
                      ms_per_second * made.iteration.count(), ms_per_second * parts.count()));
    }
  }

  const Trace& trace_;
  CheckBounds bounds_;
  Attribution attribution_;
  StepSummary summary_;
  RecordingChecks checks_;
  std::map<std::size_t, std::size_t> layer_at_;
  ProfileFit fit_;
};

}  // namespace

ProfileFit fit_trace(const Trace& trace, const ProfileSubject& subject, const CheckBounds& bounds) {
  Fit fit(trace, bounds);
  fit.check();
  fit.tell_cautions();
  ComputeProfile& profile = fit.profile();
  profile.model = subject.model;
  profile.gpu = subject.gpu;
  profile.batch_per_gpu = subject.batch_per_gpu;
  profile.dtype = subject.dtype;
  profile.source = subject.source;
  profile.optimizer_bytes_per_parameter = subject.optimizer_bytes_per_parameter;
  if (subject.frame) {
    fit.take_frame(*subject.frame);
  } else {
    fit.take_own_layers(true);
    profile.gradient_order = reverse_registration_order(profile.tensor_count());
    fit.note(
        profile.tensor_count() == 0
            ? "no parameters: the trace has no shapes of operators' inputs; the profile has "
              "times and nothing to exchange (record_shapes=True records the shapes, --model "
              "the layers of a model of ours)"
            : "parameters are inferred from the shapes of operators' inputs: shared ones count "
              "twice, and their order is that of the layers");
  }
  fit.take_rest(subject.iteration);
  return fit.take();
}

ProfileFit fit_recording(const Workload& workload, const std::vector<Seconds>& uninstrumented,
                         const Trace* light, const Trace& full, const ProfileSource& source,
                         const CheckBounds& bounds) {
  CheckBounds strict = bounds;  // one may record again
  strict.other_refused = bounds.other_max;
  Fit fit(full, strict);
  ComputeProfile& profile = fit.profile();
  profile.model = workload.model;
  profile.gpu = workload.gpu;
  profile.batch_per_gpu = workload.batch_per_gpu;
  profile.dtype = workload.dtype;
  profile.source = source;
  profile.buffers = workload.buffers;
  profile.buffer_elements = workload.buffer_elements;
  profile.buffer_bytes = workload.buffer_bytes;
  fit.take_own_layers(false);
  fit.take_gradients(workload);
  std::optional<Percentiles> iteration;
  if (light != nullptr) {
    fit.checks().full_vs_light = kernel_ratio(full, *light);
    const std::vector<Seconds> times = iteration_times(*light);
    if (!times.empty()) iteration = percentiles_of(times);
  }
  if (!uninstrumented.empty()) {
    const Percentiles bare = percentiles_of(uninstrumented);
    // The quickest: what the recorder costs is in each iteration, what a busy host adds in some.
    if (iteration) fit.checks().light_vs_full = iteration->p5 / bare.p5;
    fit.extras().uninstrumented = bare;
    iteration = bare;
  }
  fit.check();
  fit.take_rest(iteration ? std::optional(iteration->p50) : std::nullopt);
  return fit.take();
}

}  // namespace gradwire::calibration
