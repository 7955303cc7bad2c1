#include "calibration/import/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "calibration/capture/inject/record_format.hpp"
#include "calibration/import/kernel_names.hpp"
#include "calibration/import/record_chunks.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::calibration {
namespace {

using gwr::RecordKind;

std::string uuid_text(const std::array<std::uint8_t, 16>& uuid) {
  if (std::ranges::all_of(uuid, [](std::uint8_t byte) { return byte == 0; })) return {};
  std::string text = "GPU";
  for (std::size_t index = 0; index < uuid.size(); ++index) {
    if (index == 0 || index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    text += fmt::format("{:02x}", uuid[index]);
  }
  return text;
}

CopyKind copy_kind(std::uint32_t kind) {
  switch (static_cast<CopyKind>(kind)) {
    case CopyKind::host_to_device:
    case CopyKind::device_to_host:
    case CopyKind::device_to_device:
    case CopyKind::peer_to_peer:
      return static_cast<CopyKind>(kind);
    default:
      return CopyKind::unknown;
  }
}

/// Gathers records in any order of chunks, then joins what refers to each other.
class Builder {
 public:
  void add(const ChunkRecord& record, const std::string& file);
  Recording finish(bool cut_off, const std::string& file);

 private:
  struct OpenRange {
    RangeRecord range;
    std::uint32_t domain = 0;
  };

  void add_fact(std::string_view text);
  void add_kernel(const gwr::Kernel& kernel);
  void add_transfer(const gwr::Transfer& transfer, DeviceKind kind);
  void add_range_begin(const ChunkRecord& record);
  void add_mark(const ChunkRecord& record);
  void add_device(const ChunkRecord& record);
  void add_nvlink(const gwr::Nvlink& link);
  void add_pcie(const gwr::Pcie& place);
  void add_summary(const gwr::Summary& summary);
  void add_small(const ChunkRecord& record);
  void end_ranges();
  void name_all();
  void say_missing();
  NameId resolve(std::uint32_t id);

  Recording recording_;
  std::unordered_map<std::uint32_t, NameId> names_;  ///< id in the file -> in the trace
  std::unordered_map<std::uint64_t, OpenRange> open_;
  std::vector<gwr::RangeEnd> ends_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;  ///< low half of pthread_t -> thread
  KernelNames kernel_names_;
  bool ended_ = false;
  std::size_t count_ = 0;  ///< of records
};

template <class Number>
void parse(std::string_view text, Number& value) {
  std::from_chars(text.data(), text.data() + text.size(), value);
}

/// What follows `part` in `text`; empty where it does not occur.
std::string_view value_after(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + part.size());
}

void Builder::add_fact(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  static constexpr std::array<std::pair<std::string_view, std::string Recording::*>, 4> texts{
      {{"mode", &Recording::mode},
       {"host", &Recording::host},
       {"command", &Recording::command},
       {"no_device", &Recording::no_device}}};
  static constexpr std::array<std::pair<std::string_view, int Recording::*>, 3> numbers{
      {{"pid", &Recording::pid},
       {"cupti", &Recording::cupti},
       {"cupti_headers", &Recording::cupti_headers}}};
  for (const auto& [name, field] : texts) {
    if (key == name) recording_.*field = plain_line(value);
  }
  for (const auto& [name, field] : numbers) {
    if (key == name) parse(value, recording_.*field);
  }
  if (key == "tool") recording_.trace.tool = plain_line(value);
  if (key == "rank") parse(value, recording_.trace.rank);
  if (key == "world_size") parse(value, recording_.trace.world_size);
  if (key == "refused_kind") recording_.notes.push_back(plain_line(text));
}

void Builder::add_kernel(const gwr::Kernel& kernel) {
  DeviceRecord record;
  record.start = kernel.start;
  record.end = kernel.end;
  record.name = kernel.name;  // of the file, until name_all()
  record.correlation = kernel.correlation;
  record.device = kernel.device;
  record.stream = kernel.stream;
  record.graph = kernel.graph;
  record.blocks = kernel.blocks;
  recording_.trace.device.push_back(record);
}

void Builder::add_transfer(const gwr::Transfer& transfer, DeviceKind kind) {
  DeviceRecord record;
  record.start = transfer.start;
  record.end = transfer.end;
  record.correlation = transfer.correlation;
  record.device = transfer.device;
  record.stream = transfer.stream;
  record.bytes = transfer.bytes;
  record.graph = transfer.graph;
  record.kind = kind;
  record.copy = kind == DeviceKind::memset ? CopyKind::unknown : copy_kind(transfer.copy_kind);
  recording_.trace.device.push_back(record);
}

void Builder::add_range_begin(const ChunkRecord& record) {
  const auto begin = record.as<gwr::RangeBegin>();
  const OperatorName name = split_operator_name(record.text);
  OpenRange open;
  open.range.start = begin.time;
  open.range.name = recording_.trace.names.id(name.name);
  open.range.sequence = name.sequence;
  if (!name.shapes.empty()) open.range.shapes = recording_.trace.names.id(name.shapes);
  open.range.thread = record.thread;
  open.range.external = begin.id;
  open.range.bytes = begin.bytes;
  open.domain = begin.domain;
  open_[begin.id] = open;
}

void Builder::add_mark(const ChunkRecord& record) {
  const auto mark = record.as<gwr::RangeBegin>();
  MarkRecord out;
  out.time = mark.time;
  out.name = recording_.trace.names.id(record.text);
  out.domain = mark.domain;  // of the file, until name_all()
  out.thread = record.thread;
  recording_.trace.marks.push_back(out);
}

void Builder::add_device(const ChunkRecord& record) {
  const auto device = record.as<gwr::Device>();
  DeviceProperties properties;
  properties.id = device.id;
  properties.name = plain_line(record.text);
  properties.compute_major = static_cast<int>(device.compute_major);
  properties.compute_minor = static_cast<int>(device.compute_minor);
  properties.multiprocessors = static_cast<int>(device.multiprocessors);
  properties.memory_bytes = device.memory_bytes;
  const auto same = [&](const DeviceProperties& known) { return known.id == device.id; };
  if (std::ranges::none_of(recording_.trace.devices, same)) {
    recording_.trace.devices.push_back(properties);
  }
}

/// CUPTI tells what exists at the start, and again where recording begins later.
template <class Record>
void add_once(std::vector<Record>& records, Record record) {
  if (std::ranges::find(records, record) == records.end()) records.push_back(std::move(record));
}

void Builder::add_nvlink(const gwr::Nvlink& link) {
  add_once(recording_.nvlinks,
           {uuid_text(link.first), uuid_text(link.second), static_cast<int>(link.version),
            static_cast<int>(link.links), link.bytes_per_second, link.nvswitch != 0});
}

void Builder::add_pcie(const gwr::Pcie& place) {
  add_once(recording_.pcie,
           {place.bridge != 0, place.id, uuid_text(place.uuid), place.domain,
            static_cast<int>(place.generation), static_cast<int>(place.gigatransfers_per_second),
            static_cast<int>(place.width), place.upstream_bus, place.secondary_bus});
}

void Builder::add_summary(const gwr::Summary& summary) {
  RecorderCost& cost = recording_.cost;
  cost.callbacks = summary.callbacks;
  cost.in_callbacks = static_cast<Nanoseconds>(summary.overhead_ns);
  cost.in_background = static_cast<Nanoseconds>(summary.background_ns);
  cost.dropped_ranges = summary.dropped_ranges;
  cost.dropped_device = summary.dropped_device;
  cost.unstamped = summary.unstamped;
  cost.wide_texts = summary.wide_texts;
  cost.buffers_missing = summary.buffers_missing;
  recording_.iterations = summary.iterations;
  ended_ = summary.last != 0;
}

void Builder::add_small(const ChunkRecord& record) {
  switch (record.kind) {
    case RecordKind::call: {
      const auto call = record.as<gwr::Call>();
      recording_.trace.calls.push_back(
          {call.start, call.end, call.name, call.correlation, call.thread});
      break;
    }
    case RecordKind::link: {
      const auto link = record.as<gwr::Link>();
      recording_.trace.links.push_back({link.correlation, link.range});
      break;
    }
    case RecordKind::clock: {
      const auto clock = record.as<gwr::Clock>();
      if (is_stretch(clock.monotonic, clock.monotonic) && is_stretch(0, clock.realtime)) {
        recording_.clocks.push_back({clock.monotonic, clock.realtime, clock.cupti});
      }
      break;
    }
    case RecordKind::thread: {
      const auto thread = record.as<gwr::Thread>();
      threads_[thread.pthread] = thread.thread;
      break;
    }
    default:
      break;  // of a newer recorder, or padding
  }
}

void Builder::add(const ChunkRecord& record, const std::string& file) {
  if (++count_ > trace_rows.most) {
    throw ConfigError({file, 0, 0}, over(trace_rows) + "; expected fewer iterations");
  }
  switch (record.kind) {
    case RecordKind::fact:
      return add_fact(record.text);
    case RecordKind::name:
      names_[record.as<gwr::Name>().id] =
          recording_.trace.names.id(kernel_names_.readable(std::string(record.text)));
      return;
    case RecordKind::kernel:
      return add_kernel(record.as<gwr::Kernel>());
    case RecordKind::copy:
      return add_transfer(record.as<gwr::Transfer>(), DeviceKind::copy);
    case RecordKind::peer_copy:
      return add_transfer(record.as<gwr::Transfer>(), DeviceKind::peer_copy);
    case RecordKind::memset:
      return add_transfer(record.as<gwr::Transfer>(), DeviceKind::memset);
    case RecordKind::push:
    case RecordKind::start:
      return add_range_begin(record);
    case RecordKind::pop:
    case RecordKind::end:
      ends_.push_back(record.as<gwr::RangeEnd>());
      return;
    case RecordKind::mark:
      return add_mark(record);
    case RecordKind::device:
      return add_device(record);
    case RecordKind::nvlink:
      return add_nvlink(record.as<gwr::Nvlink>());
    case RecordKind::pcie:
      return add_pcie(record.as<gwr::Pcie>());
    case RecordKind::summary:
      return add_summary(record.as<gwr::Summary>());
    default:
      return add_small(record);
  }
}

/// A range that one thread starts may be ended by another, whose chunk may come first.
void Builder::end_ranges() {
  for (const gwr::RangeEnd& end : ends_) {
    const auto open = open_.find(end.id);
    if (open == open_.end()) continue;
    RangeRecord range = open->second.range;
    range.end = std::max(end.time, range.start);
    range.domain = open->second.domain;
    recording_.trace.ranges.push_back(range);
    open_.erase(open);
  }
  recording_.open_ranges = open_.size();
}

NameId Builder::resolve(std::uint32_t id) {
  const auto name = names_.find(id);
  return name != names_.end() ? name->second : recording_.trace.names.id("");
}

/// Names and numbers of the file become those of the trace.
void Builder::name_all() {
  const NameId copy = recording_.trace.names.id("copy");
  const NameId peer_copy = recording_.trace.names.id("peer copy");
  const NameId memset = recording_.trace.names.id("memset");
  for (DeviceRecord& record : recording_.trace.device) {
    switch (record.kind) {
      case DeviceKind::kernel:
        record.name = resolve(record.name);
        break;
      case DeviceKind::copy:
        record.name = copy;
        break;
      case DeviceKind::peer_copy:
        record.name = peer_copy;
        break;
      case DeviceKind::memset:
        record.name = memset;
        break;
    }
  }
  for (CallRecord& call : recording_.trace.calls) {
    call.name = resolve(call.name);
    const auto thread = threads_.find(call.thread);
    if (thread != threads_.end()) call.thread = thread->second;
  }
  for (RangeRecord& range : recording_.trace.ranges) range.domain = resolve(range.domain);
  for (MarkRecord& mark : recording_.trace.marks) mark.domain = resolve(mark.domain);
}

void Builder::say_missing() {
  std::vector<std::string>& missing = recording_.trace.missing;
  const Trace& trace = recording_.trace;
  const bool full = recording_.mode == "full";
  if (trace.device.empty()) missing.emplace_back("kernels, copies and memsets");
  if (!full || trace.calls.empty()) missing.emplace_back("calls of the CUDA runtime and driver");
  if (!full || trace.ranges.empty()) missing.emplace_back("ranges");
  if (!full || trace.links.empty()) missing.emplace_back("links of calls to ranges");
  if (trace.devices.empty()) missing.emplace_back("properties of the GPUs");
}

Recording Builder::finish(bool cut_off, const std::string& file) {
  end_ranges();
  name_all();
  say_missing();
  recording_.trace.file = file;
  recording_.trace.cut_off = cut_off || !ended_;
  const Trace& trace = recording_.trace;
  if (trace.rank < 0 || trace.rank >= trace.world_size) {
    throw ConfigError({file, 0, 0}, fmt::format("is of rank {} of {}; expected a rank from 0 on, "
                                                "below the number of them",
                                                trace.rank, trace.world_size));
  }
  const RecorderCost& cost = recording_.cost;
  check_times(recording_.trace);
  recording_.trace.dropped = cost.dropped_ranges + cost.dropped_device + cost.unstamped;
  return std::move(recording_);
}

}  // namespace

OperatorName split_operator_name(std::string_view text) {
  static constexpr std::array<std::string_view, 4> parts{
      ", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
  const std::string_view sequence = value_after(text, parts[0]);
  OperatorName name{text};
  for (const std::string_view part : parts) name.name = name.name.substr(0, text.find(part));
  if (!sequence.empty()) parse(sequence, name.sequence);
  name.shapes = value_after(text, parts[2]);
  name.shapes = name.shapes.substr(0, name.shapes.find(parts[3]));
  return name;
}

Recording read_recording(const std::string& file) {
  Builder builder;
  const bool cut_off =
      read_chunks(file, [&](const ChunkRecord& record) { builder.add(record, file); });
  return builder.finish(cut_off, file);
}

std::vector<std::string> recording_files(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".gwr") files.push_back(entry.path().string());
  }
  if (failure) {
    throw ConfigError({folder, 0, 0}, fmt::format("cannot be read: {}; expected a folder of "
                                                  "recordings",
                                                  failure.message()));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace gradwire::calibration
