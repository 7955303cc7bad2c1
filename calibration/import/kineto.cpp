#include "calibration/import/kineto.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "calibration/import/compressed_file.hpp"
#include "calibration/import/decimal_time.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

namespace json = simdjson::ondemand;

constexpr Nanoseconds duration_max = 10'000'000'000'000;  // 3 hours: sums of many stay in 64 bits
constexpr std::string_view expected = "expected a trace of PyTorch's profiler";

enum class Category : std::uint8_t { skipped, host, call, kernel, copy, memset };

Category category_of(std::string_view name) {
  struct Entry {
    std::string_view name;
    Category category;
  };
  // The second of each pair is PyTorch 1.8.1's.
  static constexpr std::array<Entry, 12> entries = {{{"cpu_op", Category::host},
                                                     {"Operator", Category::host},
                                                     {"user_annotation", Category::host},
                                                     {"python_function", Category::host},
                                                     {"cuda_runtime", Category::call},
                                                     {"Runtime", Category::call},
                                                     {"cuda_driver", Category::call},
                                                     {"kernel", Category::kernel},
                                                     {"Kernel", Category::kernel},
                                                     {"gpu_memcpy", Category::copy},
                                                     {"Memcpy", Category::copy},
                                                     {"gpu_memset", Category::memset}}};
  if (name == "Memset") return Category::memset;
  const auto entry = std::ranges::find(entries, name, &Entry::name);
  return entry == entries.end() ? Category::skipped : entry->category;
}

/// "Memcpy DtoD (Device -> Device)"
CopyKind copy_kind(std::string_view name) {
  if (name.find("HtoD") != std::string_view::npos) return CopyKind::host_to_device;
  if (name.find("DtoH") != std::string_view::npos) return CopyKind::device_to_host;
  if (name.find("DtoD") != std::string_view::npos) return CopyKind::device_to_device;
  if (name.find("PtoP") != std::string_view::npos) return CopyKind::peer_to_peer;
  return CopyKind::unknown;
}

/// What is kept of one event; views are valid until the next is read.
struct Event {
  bool complete = false;  ///< phase "X"
  Category category = Category::skipped;
  std::string_view domain;
  std::string_view name;
  std::string_view thread;  ///< as written
  std::optional<Nanoseconds> start;
  std::optional<Nanoseconds> duration;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint64_t external = 0;
  std::int64_t sequence = no_sequence;
  std::int64_t bytes = 0;
  std::uint32_t blocks = 0;
  std::string_view shapes;
  std::string_view operation;  ///< of a collective
  std::string_view dtype;
  std::int64_t elements = 0;
  int group = 0;
};

/// The number in `text`, absent when it is none or does not fit.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A scalar as written, without quotes.
std::string_view token(json::value& value) {
  std::string_view text = value.raw_json_token();
  while (!text.empty() && std::string_view(" \n\r\t").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

template <class Number>
void read_number(json::value& value, Number& number) {
  if (const auto read = number_in<Number>(token(value))) number = *read;
}

void read_time(json::value& value, std::optional<Nanoseconds>& time) {
  time = nanoseconds_of(token(value));
}

/// Blocks of a grid "[8, 1, 1]".
std::uint32_t grid_blocks(std::string_view text) {
  std::uint64_t blocks = 1;
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t side = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), side);
    if (error == std::errc{}) {
      blocks = std::min<std::uint64_t>(blocks * side, std::numeric_limits<std::uint32_t>::max());
      any = true;
      i = static_cast<std::size_t>(end - text.data());
    } else {
      ++i;
    }
  }
  return any ? static_cast<std::uint32_t>(blocks) : 0;
}

bool is_composite(json::value& value) {
  const json::json_type type = value.type();
  return type == json::json_type::array || type == json::json_type::object;
}

void read_argument(std::string_view key, json::value& value, Event& event) {
  if (is_composite(value)) {
    const bool shapes = key == "Input Dims" || key == "Input dims";
    json::array list;
    if ((!shapes && key != "grid") || value.get_array().get(list) != simdjson::SUCCESS) return;
    const std::string_view text = list.raw_json();
    if (shapes) {
      event.shapes = text;
    } else {
      event.blocks = grid_blocks(text);
    }
    return;
  }
  if (key == "correlation") read_number(value, event.correlation);
  if (key == "External id" || key == "external id") read_number(value, event.external);
  if (key == "Sequence number") read_number(value, event.sequence);
  if (key == "stream") read_number(value, event.stream);
  if (key == "device") read_number(value, event.device);
  if (key == "bytes") read_number(value, event.bytes);
  if (key == "Collective name") event.operation = token(value);
  if (key == "In msg nelems" || key == "In msg size") read_number(value, event.elements);
  if (key == "dtype") event.dtype = token(value);
  if (key == "Group size") read_number(value, event.group);
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
      read_document();
    } catch (const simdjson::simdjson_error& error) {
      throw ConfigError(here(), fmt::format("the JSON is damaged or breaks off ({}); {}",
                                            error.what(), expected));
    }
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
    if (document_.current_location().get(at) != simdjson::SUCCESS) at = text_.data() + text_.size();
    return place(at);
  }

  void read_document() {
    bool events = false;
    json::object top;
    if (document_.get_object().get(top) != simdjson::SUCCESS) {
      throw ConfigError(place(text_.data()), fmt::format("no JSON object; {}", expected));
    }
    for (auto field : top) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "traceEvents" && value.type() == json::json_type::array) {
        for (json::value event : value.get_array()) read_event(event);
        events = true;
      } else if (key == "deviceProperties" && value.type() == json::json_type::array) {
        for (json::value device : value.get_array()) read_device(device);
      } else if (key == "distributedInfo" && value.type() == json::json_type::object) {
        read_distributed(value);
      }
    }
    if (!events) {
      throw ConfigError(place(text_.data()), fmt::format("no list 'traceEvents'; {}", expected));
    }
  }

  void read_device(json::value& value) {
    if (value.type() != json::json_type::object) return;
    DeviceProperties device;
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      json::value member = field.value();
      if (is_composite(member)) continue;
      if (key == "id") read_number(member, device.id);
      if (key == "name") device.name = token(member);
      if (key == "totalGlobalMem") read_number(member, device.memory_bytes);
      if (key == "computeMajor") read_number(member, device.compute_major);
      if (key == "computeMinor") read_number(member, device.compute_minor);
      if (key == "numSms") read_number(member, device.multiprocessors);
    }
    trace_.devices.push_back(std::move(device));
  }

  void read_distributed(json::value& value) {
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      json::value member = field.value();
      if (is_composite(member)) continue;
      if (key == "rank") read_number(member, trace_.rank);
      if (key == "world_size") read_number(member, trace_.world_size);
    }
  }

  void read_event(json::value& value) {
    if (value.type() != json::json_type::object) return;
    const char* const begin = text_.data() + offset();
    Event event;
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      json::value member = field.value();
      if (key == "args" && member.type() == json::json_type::object) {
        // A category that is passed over has no argument that counts.
        if (event.category == Category::skipped && !event.domain.empty()) continue;
        for (auto argument : member.get_object()) {
          const std::string_view name = argument.unescaped_key();
          json::value text = argument.value();
          read_argument(name, text, event);
        }
      } else if (!is_composite(member)) {
        read_member(key, member, event);
      }
    }
    if (event.complete && event.category != Category::skipped) keep(event, begin);
  }

  [[nodiscard]] std::size_t offset() {
    const char* at = nullptr;
    if (document_.current_location().get(at) != simdjson::SUCCESS) return text_.size();
    return static_cast<std::size_t>(at - text_.data());
  }

  static void read_member(std::string_view key, json::value& value, Event& event) {
    if (key == "ph") event.complete = token(value) == "X";
    if (key == "cat") {
      event.domain = token(value);
      event.category = category_of(event.domain);
    }
    // Kineto writes names without quotes to escape; what is escaped stays so, and stays distinct.
    if (key == "name") event.name = token(value);
    if (key == "tid") event.thread = token(value);
    if (key == "ts") read_time(value, event.start);
    if (key == "dur") read_time(value, event.duration);
  }

  void keep(const Event& event, const char* at) {
    const auto fail = [&](const char* what) {
      throw ConfigError(place(at), fmt::format("{} of event '{}'", what, event.name));
    };
    if (!event.start) fail("no time 'ts' (microseconds)");
    if (!event.duration) fail("no duration 'dur' (microseconds)");
    if (*event.duration < 0) fail("negative duration 'dur'");
    if (*event.duration > duration_max) fail("more than 3 hours in 'dur'");
    const Nanoseconds end = *event.start + *event.duration;
    switch (event.category) {
      case Category::host:
        keep_range(event, end);
        break;
      case Category::call:
        trace_.calls.push_back({*event.start, end, trace_.names.id(event.name), event.correlation,
                                thread(event.thread)});
        break;
      default:
        keep_device(event, end);
        break;
    }
  }

  void keep_range(const Event& event, Nanoseconds end) {
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

  void keep_device(const Event& event, Nanoseconds end) {
    DeviceRecord record;
    record.start = *event.start;
    record.end = end;
    record.name = trace_.names.id(event.name);
    record.correlation = event.correlation;
    record.device = event.device;
    record.stream = event.stream;
    record.bytes = std::max<std::int64_t>(0, event.bytes);
    record.blocks = event.blocks;
    if (event.category == Category::copy) {
      record.copy = copy_kind(event.name);
      const bool peers = record.copy == CopyKind::peer_to_peer;
      record.kind = peers ? DeviceKind::peer_copy : DeviceKind::copy;
    } else if (event.category == Category::memset) {
      record.kind = DeviceKind::memset;
    }
    trace_.device.push_back(record);
    if (event.operation.empty() || event.category != Category::kernel) return;
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
  json::parser parser_;
  json::document document_;
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
