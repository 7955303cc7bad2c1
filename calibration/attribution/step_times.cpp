#include "calibration/attribution/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/core/statistics.hpp"

namespace gradwire::calibration {
namespace {

/// Between kernels that wait in one queue lie one or two microseconds; what is longer is a wait for
/// something else (assumed).
constexpr Nanoseconds queued_gap_max = 5000;

enum class Purpose : std::uint8_t {
  forward,
  backward,
  optimizer,
  wrapper,
  communication,
  other,
  unlinked
};

struct Share {
  Purpose purpose = Purpose::other;
  int layer = -1;
  bool in_backward = false;
};

/// Length of a union of intervals that come by start.
class Union {
 public:
  void add(Nanoseconds start, Nanoseconds end) {
    if (empty_ || start > end_) {
      end_ = start;
      empty_ = false;
    }
    if (end > end_) {
      length_ += end - std::max(start, end_);
      end_ = end;
    }
  }
  [[nodiscard]] Nanoseconds length() const { return length_; }

 private:
  bool empty_ = true;
  Nanoseconds end_ = 0;
  Nanoseconds length_ = 0;
};

/// 0 where there are none.
Nanoseconds median_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::llround(median(values));
}

class StepTimes {
 public:
  StepTimes(const TraceIndex& index, const StepLayers& layers) : index_(index), layers_(layers) {
    times_.forward.resize(layers.calls().size());
    times_.backward.resize(layers.calls().size());
    times_.ready.resize(layers.calls().size());
  }

  IterationTimes run(std::span<const std::uint32_t> records, std::span<const MarkRecord> marks) {
    unions(records);
    for (const std::uint32_t id : records) add(index_.trace().device[id], index_.launch(id));
    const Nanoseconds start = backward_start_.value_or(0);
    for (auto& ready : times_.ready) ready = std::max<Nanoseconds>(0, ready - start);
    gradients(marks);
    host_launches();
    return std::move(times_);
  }

 private:
  /// Of one thread, by launch.
  struct Launched {
    Nanoseconds time = 0;
    Nanoseconds end = 0;
  };

  [[nodiscard]] Share share_of(const DeviceRecord& record, const Launch& launch) const {
    if (index_.meaning(record).communication) return {Purpose::communication};
    if (!launch.known) return {Purpose::unlinked};
    RangeId node = no_range;
    bool optimizer = false;
    bool model_call = false;
    bool copy = false;
    for (RangeId id = launch.range; id != no_range; id = index_.parent(id)) {
      const RangeMeaning& meaning = index_.meaning(id);
      if (meaning.wrapper) return {Purpose::wrapper, -1, !model_call};
      if (meaning.backward) node = id;
      optimizer = optimizer || meaning.optimizer;
      model_call = model_call || meaning.model_call;
      if (meaning.operation) copy = meaning.plain_copy;
    }
    if (optimizer) return {Purpose::optimizer};
    const int layer = node == no_range ? layers_.forward_layer(launch.range) : -1;
    if (layer >= 0) return {Purpose::forward, layer};
    if (node == no_range && model_call && copy) return {Purpose::wrapper};
    // Up to PyTorch 1.8 gradients of several users are added between two nodes.
    if (node == no_range) node = layers_.node_before(launch.thread, launch.time);
    if (node == no_range) return {Purpose::other};
    const int owner = layers_.backward_layer(node);
    return {owner < 0 ? Purpose::other : Purpose::backward, owner, true};
  }

  void add(const DeviceRecord& record, const Launch& launch) {
    const Share share = share_of(record, launch);
    const Nanoseconds duration = record.end - record.start;
    switch (share.purpose) {
      case Purpose::forward:
        times_.forward[static_cast<std::size_t>(share.layer)] += duration;
        break;
      case Purpose::backward: {
        const auto layer = static_cast<std::size_t>(share.layer);
        times_.backward[layer] += duration;
        times_.ready[layer] = std::max(times_.ready[layer], record.end);
        break;
      }
      case Purpose::optimizer:
        times_.optimizer += duration;
        break;
      case Purpose::wrapper:
        times_.wrapper += duration;
        ++times_.wrapper_records;
        break;
      case Purpose::communication:
        times_.communication += duration;
        times_.collectives.push_back({record.start, record.end});
        break;
      case Purpose::other:
        times_.other += duration;
        break;
      case Purpose::unlinked:
        times_.unlinked += duration;
        break;
    }
    if (share.layer >= 0) {
      times_.kernels.push_back({record.start, record.end});
      times_.layer_of_kernel.push_back(share.layer);
    }
    if (!share.in_backward || share.purpose == Purpose::wrapper) return;
    if (!backward_start_) backward_start_ = record.start;
    backward_[launch.thread].push_back({launch.time, record.end});
  }

  void unions(std::span<const std::uint32_t> records) {
    Union own;
    Union all;
    Union compute;
    std::unordered_map<std::uint32_t, DeviceInterval> wrapper_last;  // by stream
    for (const std::uint32_t id : records) {
      const DeviceRecord& record = index_.trace().device[id];
      const Purpose purpose = share_of(record, index_.launch(id)).purpose;
      all.add(record.start, record.end);
      if (purpose != Purpose::communication) {
        compute.add(record.start, record.end);
        if (purpose != Purpose::wrapper) own.add(record.start, record.end);
      }
      if (const auto last = wrapper_last.find(record.stream); last != wrapper_last.end()) {
        const Nanoseconds gap = record.start - last->second.end;
        if (gap > 0 && gap <= queued_gap_max) times_.wrapper_stream += gap;
        wrapper_last.erase(last);
      }
      if (purpose == Purpose::wrapper) {
        times_.wrapper_stream += record.end - record.start;
        wrapper_last[record.stream] = {record.start, record.end};
      }
      times_.end = std::max(times_.end, record.end);
    }
    if (!records.empty()) times_.start = index_.trace().device[records.front()].start;
    times_.busy = own.length();
    times_.busy_all = all.length();
    times_.exposed = all.length() - compute.length();
  }

  /// A gradient is ready when what its thread launched last before the mark has ended.
  void gradients(std::span<const MarkRecord> marks) {
    for (auto& [thread, launched] : backward_) {
      std::ranges::sort(launched, {}, &Launched::time);
      Nanoseconds latest = 0;
      for (Launched& each : launched) latest = each.end = std::max(each.end, latest);
    }
    for (const MarkRecord& mark : marks) {
      const GradientName name = gradient_name(index_.trace().names[mark.name]);
      if (name.parameter.empty()) continue;
      ReadyGradient gradient;
      gradient.parameter = name.parameter;
      gradient.elements = name.elements;
      const RangeId node = layers_.node_before(mark.thread, mark.time);
      if (node != no_range) gradient.layer = layers_.backward_layer(node);
      if (const auto thread = backward_.find(mark.thread); thread != backward_.end()) {
        const auto& launched = thread->second;
        const auto after = std::ranges::upper_bound(launched, mark.time, {}, &Launched::time);
        if (after != launched.begin()) gradient.ready = (after - 1)->end - *backward_start_;
      }
      times_.gradients.push_back(std::move(gradient));
    }
  }

  void host_launches() {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < layers_.calls().size(); ++i) {
      gaps.push_back(static_cast<double>(index_.range(layers_.calls()[i].range).start -
                                         index_.range(layers_.calls()[i - 1].range).start));
    }
    times_.forward_launch = median_of(gaps);
    std::vector<double> nodes;
    for (const RangeId node : layers_.nodes()) {
      if (index_.meaning(node).accumulate) continue;
      nodes.push_back(static_cast<double>(index_.range(node).end - index_.range(node).start));
    }
    times_.backward_launch = median_of(nodes);
  }

  const TraceIndex& index_;
  const StepLayers& layers_;
  IterationTimes times_;
  std::optional<Nanoseconds> backward_start_;                ///< of its first device record
  std::map<std::uint32_t, std::vector<Launched>> backward_;  ///< by thread
};

}  // namespace

Nanoseconds IterationTimes::layers() const {
  Nanoseconds sum = 0;
  for (const Nanoseconds time : forward) sum += time;
  for (const Nanoseconds time : backward) sum += time;
  return sum;
}

IterationTimes step_times(const TraceIndex& index, const StepLayers& layers,
                          std::span<const std::uint32_t> records,
                          std::span<const MarkRecord> marks) {
  return StepTimes(index, layers).run(records, marks);
}

}  // namespace gradwire::calibration
