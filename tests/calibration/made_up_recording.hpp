#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/capture/inject/crc32.hpp"
#include "calibration/capture/inject/record_bytes.hpp"
#include "calibration/capture/inject/record_format.hpp"
#include "calibration/trace/trace.hpp"

namespace gradwire::calibration::test {

using RecordBytes = std::vector<std::byte>;

/// A file of the recorder's, made by hand.
class MadeFile {
 public:
  MadeFile() { append(gwr::FileHeader{}); }

  void chunk(std::uint32_t thread, const RecordBytes& records) {
    gwr::ChunkHeader header;
    header.bytes = static_cast<std::uint32_t>(records.size());
    header.sequence = chunks_++;
    header.thread = thread;
    header.payload_crc = crc32(records);
    header.header_crc = crc32(std::as_bytes(std::span(&header, 1)).first(sizeof(header) - 4));
    append(header);
    bytes_.insert(bytes_.end(), records.begin(), records.end());
  }
  [[nodiscard]] const RecordBytes& bytes() const { return bytes_; }

 private:
  template <class Header>
  void append(const Header& header) {
    const auto all = std::as_bytes(std::span(&header, 1));
    bytes_.insert(bytes_.end(), all.begin(), all.end());
  }
  RecordBytes bytes_;
  std::uint32_t chunks_ = 0;
};

/// What the recorder would have written of this trace, rank 0's.
inline RecordBytes recording_of(const Trace& trace, std::string_view mode, int world_size = 1,
                                const std::string& host = "made-up") {
  MadeFile file;
  RecordBytes head;
  append_record(head, gwr::RecordKind::fact, gwr::Fact{}, "mode=" + std::string(mode));
  append_record(head, gwr::RecordKind::fact, gwr::Fact{}, "tool=made up");
  append_record(head, gwr::RecordKind::fact, gwr::Fact{}, "rank=0");
  append_record(head, gwr::RecordKind::fact, gwr::Fact{}, "host=" + host);
  append_record(head, gwr::RecordKind::fact, gwr::Fact{},
                "world_size=" + std::to_string(world_size));
  for (NameId id = 0; id < trace.names.size(); ++id) {
    gwr::Name name;
    name.id = id + 1;
    append_record(head, gwr::RecordKind::name, name, trace.names[id]);
  }
  for (const DeviceRecord& device : trace.device) {
    gwr::Kernel kernel;
    kernel.start = device.start;
    kernel.end = device.end;
    kernel.name = device.name + 1;
    kernel.correlation = device.correlation;
    kernel.stream = device.stream;
    append_record(head, gwr::RecordKind::kernel, kernel);
  }
  // The file's thread 0 is none.
  for (const CallRecord& made : trace.calls) {
    gwr::Call call;
    call.start = made.start;
    call.end = made.end;
    call.name = made.name + 1;
    call.correlation = made.correlation;
    call.thread = made.thread + 1;
    append_record(head, gwr::RecordKind::call, call);
  }
  file.chunk(0, head);
  std::map<std::uint32_t, RecordBytes> threads;
  std::uint64_t id = 0;
  for (const RangeRecord& range : trace.ranges) {
    std::string name = trace.names[range.name];
    if (range.sequence != no_sequence) name += ", seq = " + std::to_string(range.sequence);
    gwr::RangeBegin begin;
    begin.time = range.start;
    begin.id = ++id;
    append_record(threads[range.thread], gwr::RecordKind::start, begin, name);
    gwr::RangeEnd end;
    end.time = range.end;
    end.id = id;
    append_record(threads[range.thread], gwr::RecordKind::end, end);
  }
  for (const MarkRecord& made : trace.marks) {
    gwr::RangeBegin mark;
    mark.time = made.time;
    append_record(threads[made.thread], gwr::RecordKind::mark, mark, trace.names[made.name]);
  }
  for (const auto& [thread, records] : threads) file.chunk(thread + 1, records);
  RecordBytes tail;
  gwr::Summary summary;
  summary.last = 1;
  append_record(tail, gwr::RecordKind::summary, summary);
  file.chunk(0, tail);
  return file.bytes();
}

}  // namespace gradwire::calibration::test
