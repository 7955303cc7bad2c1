#include "calibration/import/recording_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "calibration/trace/check_times.hpp"
#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"
#include "sim/core/outgoing_text.hpp"

// What each record of a file says.
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

CopyKind kind_of_copy(std::uint32_t kind) {
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

template <class Number>
void parse(std::string_view text, Number& value) {
  std::from_chars(text.data(), text.data() + text.size(), value);
}

}  // namespace

void RecordingBuilder::add_fact(std::string_view text) {
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
  if (key == "file_full") {
    recording_.notes.push_back("the file reached its bound of " + plain_line(value) +
                               " bytes: what came later is missing");
  }
}

void RecordingBuilder::add_kernel(const gwr::Kernel& kernel) {
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

void RecordingBuilder::add_transfer(const gwr::Transfer& transfer, DeviceKind kind) {
  DeviceRecord record;
  record.start = transfer.start;
  record.end = transfer.end;
  record.correlation = transfer.correlation;
  record.device = transfer.device;
  record.stream = transfer.stream;
  record.bytes = transfer.bytes;
  record.graph = transfer.graph;
  record.kind = kind;
  record.copy = kind == DeviceKind::memset ? CopyKind::unknown : kind_of_copy(transfer.copy_kind);
  recording_.trace.device.push_back(record);
}

void RecordingBuilder::add_range_begin(const ChunkRecord& record) {
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

void RecordingBuilder::add_mark(const ChunkRecord& record) {
  const auto mark = record.as<gwr::RangeBegin>();
  MarkRecord out;
  out.time = mark.time;
  out.name = recording_.trace.names.id(record.text);
  out.domain = mark.domain;  // of the file, until name_all()
  out.thread = record.thread;
  recording_.trace.marks.push_back(out);
}

void RecordingBuilder::add_device(const ChunkRecord& record) {
  const auto device = record.as<gwr::Device>();
  DeviceProperties properties;
  properties.id = device.id;
  properties.name = plain_line(record.text);
  properties.compute_major = static_cast<int>(device.compute_major);
  properties.compute_minor = static_cast<int>(device.compute_minor);
  properties.multiprocessors = static_cast<int>(device.multiprocessors);
  properties.memory_bytes = device.memory_bytes;
  properties.mig = device.mig != 0;
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

void RecordingBuilder::add_nvlink(const gwr::Nvlink& link) {
  add_once(recording_.nvlinks,
           {uuid_text(link.first), uuid_text(link.second), static_cast<int>(link.version),
            static_cast<int>(link.links), link.bytes_per_second, link.nvswitch != 0});
}

void RecordingBuilder::add_pcie(const gwr::Pcie& place) {
  add_once(recording_.pcie,
           {place.bridge != 0, place.id, uuid_text(place.uuid), place.domain,
            static_cast<int>(place.generation), static_cast<int>(place.gigatransfers_per_second),
            static_cast<int>(place.width), place.upstream_bus, place.secondary_bus});
}

void RecordingBuilder::add_summary(const gwr::Summary& summary) {
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

void RecordingBuilder::add_small(const ChunkRecord& record) {
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

void RecordingBuilder::add(const ChunkRecord& record, const std::string& file) {
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

}  // namespace gradwire::calibration
