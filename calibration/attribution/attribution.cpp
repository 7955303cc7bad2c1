#include "calibration/attribution/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "calibration/attribution/iterations.hpp"
#include "calibration/attribution/layer_ops.hpp"
#include "calibration/attribution/step_layers.hpp"
#include "calibration/attribution/step_times.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

/// What belongs to one iteration.
struct Step {
  std::vector<RangeId> ranges;
  std::vector<std::uint32_t> records;  ///< by start
  std::vector<MarkRecord> marks;
};

/// Which iteration an instant lies in; none: the number of iterations.
std::size_t step_at(const Iterations& iterations, Nanoseconds time) {
  const auto after = std::ranges::upper_bound(iterations.host, time, {}, &HostIteration::start);
  if (after == iterations.host.begin() || (after - 1)->end <= time) return iterations.host.size();
  return static_cast<std::size_t>(after - iterations.host.begin()) - 1;
}

/// The GPU that ran most; the others' work is not looked at.
std::uint32_t main_device(const Trace& trace) {
  std::map<std::uint32_t, std::size_t> records;
  for (const DeviceRecord& record : trace.device) ++records[record.device];
  return std::ranges::max_element(records, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

class Attributor {
 public:
  explicit Attributor(const Trace& trace) : trace_(trace), index_(trace) {}

  Attribution run() {
    const auto fail = [&](const std::string& message) {
      throw ConfigError({trace_.file, 0, 0}, message);
    };
    if (trace_.device.empty()) fail("no kernels of a GPU; expected a recording of GPU activity");
    const auto in_graphs = std::ranges::count_if(
        trace_.device, [](const DeviceRecord& record) { return record.graph != 0; });
    if (in_graphs > 0) {
      fail(fmt::format(
          "{} kernels ran in CUDA graphs, which do not record who launched them; expected "
          "a recording without graphs (eager mode)",
          in_graphs));
    }
    // Of a slice's speed, under the whole GPU's name.
    const auto slice = std::ranges::find_if(trace_.devices, &DeviceProperties::mig);
    if (slice != trace_.devices.end()) {
      fail(
          fmt::format("ran on a MIG slice of '{}' with {} multiprocessors, which no profile names; "
                      "expected a whole GPU (nvidia-smi -mig 0)",
                      slice->name, slice->multiprocessors));
    }
    iterations_ = find_iterations(index_);
    if (iterations_.host.empty()) {
      fail(
          "no iterations; expected steps of the profiler, iteration marks, optimizer steps or a "
          "sequence of kernels that repeats at least three times");
    }
    if (iterations_.by_device) {
      fail(
          fmt::format("no layers: {} iterations repeat on the GPU, but nothing on the host says "
                      "what they ran; expected operators (a full recording)",
                      iterations_.host.size()));
    }
    result_.told_by = iterations_.told_by;
    result_.dropped = trace_.dropped;
    share_out();
    if (trace_.cut_off) leave_out_unfinished();
    run_steps();
    if (result_.layers.empty()) {
      fail(
          "no layers: no operator's backward could be found; expected operators with sequence "
          "numbers, as PyTorch's profiler and emit_nvtx record them");
    }
    return std::move(result_);
  }

 private:
  void share_out() {
    steps_.resize(iterations_.host.size());
    for (const RangeId id : index_.ranges()) {
      const std::size_t step = step_at(iterations_, index_.range(id).start);
      if (step < steps_.size()) steps_[step].ranges.push_back(id);
    }
    for (const MarkRecord& mark : trace_.marks) {
      const std::size_t step = step_at(iterations_, mark.time);
      if (step < steps_.size()) steps_[step].marks.push_back(mark);
    }
    const std::uint32_t device = main_device(trace_);
    std::vector<std::uint32_t> unlinked;
    std::size_t elsewhere = 0;
    for (const std::uint32_t id : index_.device_order()) {
      if (trace_.device[id].device != device) {
        ++elsewhere;
      } else if (!index_.launch(id).known) {
        unlinked.push_back(id);
      } else if (const std::size_t step = step_at(iterations_, index_.launch(id).time);
                 step < steps_.size()) {
        steps_[step].records.push_back(id);
      }
    }
    if (elsewhere > 0) {
      result_.notes.push_back(
          fmt::format("{} records of other GPUs than {} are left out", elsewhere, device));
    }
    place_unlinked(unlinked);
    for (Step& step : steps_) std::ranges::sort(step.marks, {}, &MarkRecord::time);
  }

  /// A record without a launch is in the iteration that ran when it began.
  void place_unlinked(const std::vector<std::uint32_t>& unlinked) {
    const auto start = [&](std::uint32_t id) { return trace_.device[id].start; };
    std::vector<std::pair<Nanoseconds, std::size_t>> begins;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].records.empty()) begins.emplace_back(start(steps_[i].records.front()), i);
    }
    std::ranges::sort(begins);
    for (const std::uint32_t id : unlinked) {
      const auto after = std::ranges::upper_bound(begins, start(id), {},
                                                  [](const auto& begin) { return begin.first; });
      if (after == begins.begin()) continue;
      steps_[(after - 1)->second].records.push_back(id);
      ++result_.unlinked;
    }
    for (Step& step : steps_) {
      std::ranges::sort(step.records, {},
                        [&](std::uint32_t id) { return std::pair(start(id), id); });
    }
  }

  /// What a killed program did last on the GPU was not reported any more: the recorder knows an
  /// iteration's kernels a moment after its mark.
  void leave_out_unfinished() {
    std::vector<std::size_t> counts;
    for (const Step& step : steps_) {
      if (!step.records.empty()) counts.push_back(step.records.size());
    }
    if (counts.empty()) return;
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
    std::ranges::nth_element(counts, middle);
    std::size_t unfinished = 0;
    for (Step& step : steps_) {
      if (step.records.empty() || step.records.size() >= *middle) continue;
      step.records.clear();
      ++unfinished;
    }
    if (unfinished > 0) {
      result_.notes.push_back(fmt::format(
          "the program was killed: {} iterations without all their kernels are left out",
          unfinished));
    }
  }

  void run_steps() {
    std::vector<StepLayers> layers;
    std::map<std::string, std::size_t> counts;
    std::vector<std::size_t> with_work;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].records.empty()) continue;
      with_work.push_back(i);
      layers.emplace_back(index_, std::move(steps_[i].ranges), iterations_.thread);
      ++counts[layers.back().signature()];
    }
    if (layers.empty()) return;
    const std::string usual =
        std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; })->first;
    std::size_t others = 0;
    std::size_t previous = steps_.size();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].signature() != usual) {
        ++others;
        continue;
      }
      const Step& step = steps_[with_work[i]];
      if (result_.layers.empty()) name_layers(layers[i]);
      IterationTimes times = step_times(index_, layers[i], step.records, step.marks);
      const HostIteration& host = iterations_.host[with_work[i]];
      times.host = host.end - host.start;
      if (!result_.iterations.empty() && previous + 1 == with_work[i]) {
        result_.iterations.back().period = times.start - result_.iterations.back().start;
      }
      previous = with_work[i];
      result_.iterations.push_back(std::move(times));
    }
    if (others > 0) {
      result_.notes.push_back(fmt::format("{} of {} iterations ran other layers and are left out",
                                          others, layers.size()));
    }
  }

  void name_layers(const StepLayers& step) {
    std::unordered_map<std::string, int> uses;
    for (const StepLayers::Call& call : step.calls()) {
      AttributedLayer layer;
      const int use = ++uses[call.name];
      layer.name = call.is_module && use == 1 ? call.name : fmt::format("{}.{}", call.name, use);
      describe(call, layer);
      result_.layers.push_back(std::move(layer));
    }
  }

  /// How much an operator of this kind says about the layer that runs it: a batch norm also adds to
  /// its counter, first.
  static int telling(const std::string& kind) {
    if (kind == "other") return 0;
    return kind == "add" || kind == "act" ? 1 : 2;
  }

  /// Kind and parameters, from the first of the operators that say most.
  void describe(const StepLayers::Call& call, AttributedLayer& layer) const {
    for (const RangeId id : call.operators) {
      const RangeRecord& range = index_.range(id);
      const std::string& op = trace_.names[range.name];
      const InputShapes shapes =
          range.shapes == no_name ? InputShapes{} : read_shapes(trace_.names[range.shapes]);
      bool guess = false;
      const std::string kind = kind_of_operator(op, shapes, guess);
      if (!layer.op.empty() && telling(kind) <= telling(layer.kind)) continue;
      layer.op = op;
      layer.kind = kind;
      layer.kind_is_guess = guess;
      layer.parameters = parameters_of_operator(op, shapes);
      layer.flops = flops_of_operator(op, shapes);
    }
  }

  const Trace& trace_;
  TraceIndex index_;
  Iterations iterations_;
  std::vector<Step> steps_;
  Attribution result_;
};

}  // namespace

Attribution attribute(const Trace& trace) {
  return Attributor(trace).run();
}

}  // namespace gradwire::calibration
