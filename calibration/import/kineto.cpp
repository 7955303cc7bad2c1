#include "calibration/import/kineto.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <new>
#include <string_view>

#include "calibration/import/compressed_file.hpp"
#include "calibration/import/kineto_event.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr Nanoseconds duration_max = 10'000'000'000'000;  // 3 hours: sums of many stay in 64 bits
constexpr std::string_view expected_trace = "expected a trace of PyTorch's profiler";

/// "Memcpy DtoD (Device -> Device)"
CopyKind copy_kind(std::string_view name) {
  if (name.find("HtoD") != std::string_view::npos) return CopyKind::host_to_device;
  if (name.find("DtoH") != std::string_view::npos) return CopyKind::device_to_host;
  if (name.find("DtoD") != std::string_view::npos) return CopyKind::device_to_device;
  if (name.find("PtoP") != std::string_view::npos) return CopyKind::peer_to_peer;
  return CopyKind::unknown;
}

class KinetoReader {
 public:
  KinetoReader(std::string text, const std::string& file) : text_(std::move(text)) {
    trace_.file = file;
    trace_.tool = "PyTorch profiler (Kineto)";
  }

  Trace run() {
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
    try {
      document_ = parser_.iterate(simdjson::padded_string_view(text_));
      opened_ = true;
      read_document();
    } catch (const simdjson::simdjson_error& error) {
      if (error.error() == simdjson::MEMALLOC) throw std::bad_alloc();
      throw ConfigError(here(),
                        fmt::format("the JSON is damaged or breaks off; {}", expected_trace));
    }
    check_times(trace_);
    tell_missing();
    return std::move(trace_);
  }

 private:
  [[nodiscard]] SourceLocation place(const char* at) const {
    const char* const begin = text_.data();
    const char* const end = std::clamp(at, begin, begin + text_.size());
    const auto line = std::count(begin, end, '\n');
    const char* start = end;
    while (start != begin && *(start - 1) != '\n') --start;
    return {trace_.file, static_cast<int>(line) + 1, static_cast<int>(end - start) + 1};
  }

  SourceLocation here() {
    const char* at = nullptr;
    if (!opened_ || document_.current_location().get(at) != simdjson::SUCCESS) {
      at = text_.data() + text_.size();
    }
    return place(at);
  }

  void read_document() {
    bool events = false;
    ondemand::object top;
    if (document_.get_object().get(top) != simdjson::SUCCESS) {
      throw ConfigError(place(text_.data()), fmt::format("no JSON object; {}", expected_trace));
    }
    for (auto field : top) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "traceEvents" && value.type() == ondemand::json_type::array) {
        for (ondemand::value event : value.get_array()) read_event(event);
        events = true;
      } else if (key == "deviceProperties" && value.type() == ondemand::json_type::array) {
        for (ondemand::value device : value.get_array()) read_device(device);
      } else if (key == "distributedInfo" && value.type() == ondemand::json_type::object) {
        read_distributed(value);
      }
    }
    if (!events) {
      throw ConfigError(place(text_.data()),
                        fmt::format("no list 'traceEvents'; {}", expected_trace));
    }
  }

  void read_device(ondemand::value& value) {
    if (value.type() != ondemand::json_type::object) return;
    DeviceProperties device;
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value member = field.value();
      if (is_composite(member)) continue;
      if (key == "id") take_json_number(member, device.id);
      if (key == "name") device.name = json_token(member);
      if (key == "totalGlobalMem") take_json_number(member, device.memory_bytes);
      if (key == "computeMajor") take_json_number(member, device.compute_major);
      if (key == "computeMinor") take_json_number(member, device.compute_minor);
      if (key == "numSms") take_json_number(member, device.multiprocessors);
    }
    trace_.devices.push_back(std::move(device));
  }

  void read_distributed(ondemand::value& value) {
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value member = field.value();
      if (is_composite(member)) continue;
      if (key == "rank") take_json_number(member, trace_.rank);
      if (key == "world_size") take_json_number(member, trace_.world_size);
    }
  }

  void read_event(ondemand::value& value) {
    if (value.type() != ondemand::json_type::object) return;
    const char* const begin = text_.data() + offset();
    const KinetoEvent event = read_kineto_event(value.get_object());
    if (event.complete && event.category != KinetoCategory::skipped) keep(event, begin);
  }

  [[nodiscard]] std::size_t offset() {
    const char* at = nullptr;
    if (document_.current_location().get(at) != simdjson::SUCCESS) return text_.size();
    return static_cast<std::size_t>(at - text_.data());
  }

  void keep(const KinetoEvent& event, const char* at) {
    const auto fail = [&](const char* what) {
      throw ConfigError(place(at), fmt::format("{} of event '{}'", what, event.name));
    };
    if (!event.start) fail("no time 'ts' (microseconds)");
    if (!event.duration) fail("no duration 'dur' (microseconds)");
    if (*event.duration < 0) fail("negative duration 'dur'");
    if (*event.duration > duration_max) fail("more than 3 hours in 'dur'");
    const Nanoseconds end = *event.start + *event.duration;
    switch (event.category) {
      case KinetoCategory::host:
        keep_range(event, end);
        break;
      case KinetoCategory::call:
        trace_.calls.push_back({*event.start, end, trace_.names.id(event.name), event.correlation,
                                thread(event.thread)});
        break;
      default:
        keep_device(event, end);
        break;
    }
  }

  void keep_range(const KinetoEvent& event, Nanoseconds end) {
    if (event.domain == "python_function" && !event.name.starts_with("nn.Module: ")) return;
    RangeRecord range;
    range.start = *event.start;
    range.end = end;
    range.name = trace_.names.id(event.name);
    range.domain = trace_.names.id(event.domain);
    range.thread = thread(event.thread);
    range.sequence = event.sequence >= 0 ? event.sequence : no_sequence;
    range.external = event.external;
    if (!event.shapes.empty()) {
      range.shapes = trace_.names.id(event.shapes);
      shapes_ = true;
    }
    sequences_ = sequences_ || range.sequence != no_sequence;
    trace_.ranges.push_back(range);
  }

  void keep_device(const KinetoEvent& event, Nanoseconds end) {
    DeviceRecord record;
    record.start = *event.start;
    record.end = end;
    record.name = trace_.names.id(event.name);
    record.correlation = event.correlation;
    record.device = event.device;
    record.stream = event.stream;
    record.bytes = std::max<std::int64_t>(0, event.bytes);
    record.blocks = event.blocks;
    if (event.category == KinetoCategory::copy) {
      record.copy = copy_kind(event.name);
      const bool peers = record.copy == CopyKind::peer_to_peer;
      record.kind = peers ? DeviceKind::peer_copy : DeviceKind::copy;
    } else if (event.category == KinetoCategory::memset) {
      record.kind = DeviceKind::memset;
    }
    trace_.device.push_back(record);
    if (event.operation.empty() || event.category != KinetoCategory::kernel) return;
    CollectiveRecord collective;
    collective.correlation = event.correlation;
    collective.operation = trace_.names.id(event.operation);
    collective.elements = std::max<std::int64_t>(0, event.elements);
    collective.dtype = trace_.names.id(event.dtype);
    collective.ranks = std::max(0, event.group);
    trace_.collectives.push_back(collective);
  }

  /// Threads are numbers, or "stream 7" in old traces; each gets a number of its own.
  std::uint32_t thread(std::string_view name) {
    return threads_.try_emplace(std::string(name), static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  void tell_missing() {
    const auto lacks = [&](bool there, const char* what) {
      if (!there) trace_.missing.emplace_back(what);
    };
    lacks(!trace_.devices.empty(), "properties of the GPU (deviceProperties)");
    lacks(!trace_.device.empty(), "kernels (the profiler did not record the GPU)");
    lacks(!trace_.calls.empty(), "calls of CUDA, which join kernels to operators");
    lacks(!trace_.ranges.empty(), "operators");
    lacks(sequences_, "sequence numbers of autograd nodes, which join backward to forward");
    lacks(shapes_, "shapes of operators' inputs (record_shapes=True)");
    const auto modules = std::ranges::any_of(trace_.ranges, [&](const RangeRecord& range) {
      return trace_.names[range.name].starts_with("nn.Module: ");
    });
    lacks(modules, "names of modules (with_stack=True or with_modules=True)");
    lacks(!trace_.collectives.empty() || trace_.world_size < 2, "sizes of NCCL's collectives");
  }

  std::string text_;
  ondemand::parser parser_;
  ondemand::document document_;
  bool opened_ = false;  ///< else the document has no place to ask for
  Trace trace_;
  std::map<std::string, std::uint32_t, std::less<>> threads_;
  bool sequences_ = false;
  bool shapes_ = false;
};

}  // namespace

Trace parse_kineto(std::string text, const std::string& file) {
  return KinetoReader(std::move(text), file).run();
}

Trace read_kineto(const std::string& file) {
  return parse_kineto(
      read_compressed(file, "a trace of PyTorch's profiler", simdjson::SIMDJSON_PADDING), file);
}

}  // namespace gradwire::calibration
