#include "calibration/import/recording.hpp"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "sim/core/error.hpp"
#include "tests/calibration/made_up_recording.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;
using namespace gradwire::calibration;
using gwr::RecordKind;

namespace {

using calibration::test::MadeFile;
using calibration::test::RecordBytes;

/// Writes a file that reads these bytes. @return its name
std::string written(const gradwire::test::ScratchFolder& folder, std::span<const std::byte> bytes) {
  return folder.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "r.gwr");
}

Recording read(std::span<const std::byte> bytes) {
  const gradwire::test::ScratchFolder folder;
  const std::string file = written(folder, bytes);
  return read_recording(file);
}

/// The message of the error that reading gives, without the file's name.
std::string refusal(std::span<const std::byte> bytes) {
  const gradwire::test::ScratchFolder folder;
  const std::string file = written(folder, bytes);
  try {
    const Recording recording = read_recording(file);
    return "read " + std::to_string(recording.trace.ranges.size());
  } catch (const ConfigError& error) {
    CHECK(error.where().file == file);
    const std::string text = error.what();
    return text.substr(text.find(": ") + 2);
  }
}

RecordBytes range(std::uint64_t id, std::int64_t start, std::int64_t end, std::string_view name) {
  RecordBytes bytes;
  gwr::RangeBegin begin;
  begin.time = start;
  begin.id = id;
  append_record(bytes, RecordKind::push, begin, name);
  gwr::RangeEnd finish;
  finish.time = end;
  finish.id = id;
  append_record(bytes, RecordKind::pop, finish);
  return bytes;
}

RecordBytes last_summary() {
  RecordBytes bytes;
  gwr::Summary summary;
  summary.last = 1;
  append_record(bytes, RecordKind::summary, summary);
  return bytes;
}

/// Three chunks: facts and names, a range, the end.
MadeFile small_file() {
  MadeFile file;
  RecordBytes facts;
  append_record(facts, RecordKind::fact, gwr::Fact{}, "mode=full");
  append_record(facts, RecordKind::fact, gwr::Fact{}, "rank=3");
  append_record(facts, RecordKind::fact, gwr::Fact{}, "world_size=8");
  file.chunk(0, facts);
  file.chunk(42, range(1, 100, 200, "aten::mm, seq = 9"));
  file.chunk(0, last_summary());
  return file;
}

}  // namespace

TEST_CASE("crc32 is the standard one", "[recording]") {
  // The check value of CRC-32/ISO-HDLC.
  const std::string_view text = "123456789";
  CHECK(crc32(std::as_bytes(std::span(text))) == 0xcbf43926U);
  CHECK(crc32({}) == 0);
}

TEST_CASE("facts, ranges and threads of a recording are read", "[recording]") {
  const Recording recording = read(small_file().bytes());
  CHECK(recording.mode == "full");
  CHECK(recording.trace.rank == 3);
  CHECK(recording.trace.world_size == 8);
  CHECK_FALSE(recording.trace.cut_off);
  REQUIRE(recording.trace.ranges.size() == 1);
  const RangeRecord& range = recording.trace.ranges[0];
  CHECK(recording.trace.names[range.name] == "aten::mm");
  CHECK(range.sequence == 9);
  CHECK(range.thread == 42);
  CHECK(range.start == 100);
  CHECK(range.end == 200);
}

TEST_CASE("names may be reported after their use, and by another chunk", "[recording]") {
  MadeFile file;
  RecordBytes kernel;
  gwr::Kernel record;
  record.start = 1;
  record.end = 2;
  record.name = 7;
  append_record(kernel, RecordKind::kernel, record);
  file.chunk(0, kernel);
  RecordBytes name;
  gwr::Name name_record;
  name_record.id = 7;
  append_record(name, RecordKind::name, name_record, "_ZN3foo3barEi");
  file.chunk(0, name);
  file.chunk(0, last_summary());
  const Recording recording = read(file.bytes());
  REQUIRE(recording.trace.device.size() == 1);
  CHECK(recording.trace.names[recording.trace.device[0].name] == "foo::bar(int)");
}

TEST_CASE("what CUPTI tells twice of the machine is there once", "[recording]") {
  MadeFile file;
  RecordBytes records;
  gwr::Nvlink link;
  link.first[0] = 0xab;
  link.links = 18;
  link.version = 4;
  link.bytes_per_second = 450'000'000'000;
  link.nvswitch = 1;
  gwr::Pcie bridge;
  bridge.bridge = 1;
  bridge.generation = 5;
  bridge.secondary_bus = 0x18;
  gwr::Device device;
  device.multiprocessors = 132;
  for (int time = 0; time < 2; ++time) {
    append_record(records, RecordKind::nvlink, link);
    append_record(records, RecordKind::pcie, bridge);
    append_record(records, RecordKind::device, device, "NVIDIA H200");
  }
  file.chunk(0, records);
  const Recording recording = read(file.bytes());
  REQUIRE(recording.nvlinks.size() == 1);
  CHECK(recording.nvlinks[0].first == "GPU-ab000000-0000-0000-0000-000000000000");
  CHECK(recording.nvlinks[0].second.empty());
  CHECK(recording.nvlinks[0].links == 18);
  CHECK(recording.nvlinks[0].nvswitch);
  REQUIRE(recording.pcie.size() == 1);
  CHECK(recording.pcie[0].bridge);
  CHECK(recording.pcie[0].secondary_bus == 0x18);
  REQUIRE(recording.trace.devices.size() == 1);
  CHECK(recording.trace.devices[0].name == "NVIDIA H200");
}

TEST_CASE("records of a newer recorder are passed over", "[recording]") {
  MadeFile file;
  RecordBytes records;
  append_record(records, static_cast<RecordKind>(999), gwr::Clock{}, "of the future");
  const RecordBytes known = range(5, 10, 20, "range");
  records.insert(records.end(), known.begin(), known.end());
  file.chunk(1, records);
  file.chunk(0, last_summary());
  CHECK(read(file.bytes()).trace.ranges.size() == 1);
}

TEST_CASE("a recording that ends early is read as far as it is whole, and says so", "[recording]") {
  const RecordBytes bytes = small_file().bytes();
  const std::size_t second = bytes.size() - sizeof(gwr::ChunkHeader) - last_summary().size();
  SECTION("between two chunks") {
    const Recording recording = read(std::span(bytes).first(second));
    CHECK(recording.trace.cut_off);
    CHECK(recording.trace.ranges.size() == 1);
  }
  SECTION("within a chunk's header") {
    const Recording recording = read(std::span(bytes).first(second + 5));
    CHECK(recording.trace.cut_off);
    CHECK(recording.trace.ranges.size() == 1);
  }
  SECTION("within a chunk") {
    const Recording recording = read(std::span(bytes).first(second - 8));
    CHECK(recording.trace.cut_off);
    CHECK(recording.trace.ranges.empty());
  }
}

TEST_CASE("what is no recording, or a damaged one, is reported with its place", "[recording]") {
  const RecordBytes bytes = small_file().bytes();
  RecordBytes damaged = bytes;
  SECTION("another file") {
    const std::string_view text = "{\"schemaVersion\": 1, \"traceEvents\": []}";
    CHECK(refusal(std::as_bytes(std::span(text))) ==
          "is not a recording of gradwire's; expected a .gwr file");
  }
  SECTION("an empty file") {
    CHECK(refusal({}) == "is not a recording of gradwire's; expected a .gwr file");
  }
  SECTION("a newer format") {
    damaged[8] = std::byte{2};
    CHECK(refusal(damaged) == "is a recording of format 2; expected 1");
  }
  SECTION("a flipped bit in the first chunk's header") {
    damaged[16 + 4] ^= std::byte{1};
    CHECK(refusal(damaged) ==
          "the chunk at byte 16 is damaged; expected a recording as it was written");
  }
  SECTION("a flipped bit in the first chunk") {
    damaged[16 + 24 + 9] ^= std::byte{1};
    CHECK_THAT(refusal(damaged), Catch::ContainsSubstring("is damaged; expected a recording"));
  }
  SECTION("a missing chunk") {
    const auto begin = damaged.begin() + sizeof(gwr::FileHeader);
    const std::size_t facts = sizeof(gwr::ChunkHeader) + 24 + 16 + 24;
    damaged.erase(begin, begin + static_cast<std::ptrdiff_t>(facts));
    CHECK(refusal(damaged) == "lacks its chunk 0: the next one is 1; expected a whole recording");
  }
  SECTION("a record that is longer than its chunk") {
    MadeFile file;
    RecordBytes records = range(1, 1, 2, "range");
    records[2] = std::byte{0xf8};
    file.chunk(0, records);
    CHECK_THAT(refusal(file.bytes()), Catch::ContainsSubstring("a record of the chunk"));
  }
  SECTION("a text that is longer than its record") {
    MadeFile file;
    RecordBytes records = range(1, 1, 2, "range");
    records[4] = std::byte{0xff};
    file.chunk(0, records);
    CHECK_THAT(refusal(file.bytes()), Catch::ContainsSubstring("a record of the chunk"));
  }
  SECTION("a file that is not there") {
    CHECK_THROWS_WITH(read_recording("/nonexistent.gwr"),
                      "/nonexistent.gwr:1:1: cannot be read; expected a recording (.gwr)");
  }
}

TEST_CASE("no damage crashes the reader, and none goes by in silence", "[recording][fuzz]") {
  MadeFile made;
  for (std::uint64_t id = 1; id <= 20; ++id) made.chunk(1, range(id, 1, 2, "range"));
  made.chunk(0, last_summary());
  const RecordBytes bytes = made.bytes();
  std::mt19937 random(20261121);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  for (int round = 0; round < 400; ++round) {
    RecordBytes damaged = bytes;
    if (round % 2 == 0) {
      damaged.resize(below(bytes.size()));
    } else {
      damaged[below(bytes.size())] ^= std::byte{1} << static_cast<int>(below(8));
    }
    const gradwire::test::ScratchFolder folder;
    const std::string file = written(folder, damaged);
    try {
      const Recording recording = read_recording(file);
      CHECK(recording.trace.cut_off);
      CHECK(recording.trace.ranges.size() <= 20);
    } catch (const ConfigError& error) {
      CHECK(error.where().file == file);
    }
  }
}

TEST_CASE("an operator's name, sequence number and shapes are taken apart", "[recording]") {
  const auto [text, name, sequence, shapes] =
      GENERATE(table<std::string, std::string, std::int64_t, std::string>(
          {{"aten::conv2d", "aten::conv2d", no_sequence, ""},
           {"aten::conv2d, seq = 12", "aten::conv2d", 12, ""},
           {"aten::conv2d, seq = 12, op_id = 99", "aten::conv2d", 12, ""},
           {"aten::empty, op_id = 99", "aten::empty", no_sequence, ""},
           {"aten::mm, seq = 0, sizes = [[2, 3], [3, 4]]", "aten::mm", 0, "[[2, 3], [3, 4]]"},
           {"aten::add, op_id = 9, sizes = [[2], []], input_op_ids = [(1,0)]", "aten::add",
            no_sequence, "[[2], []]"},
           {"gradwire.fwd:layer1.0", "gradwire.fwd:layer1.0", no_sequence, ""}}));
  const OperatorName split = split_operator_name(text);
  CHECK(split.name == name);
  CHECK(split.sequence == sequence);
  CHECK(split.shapes == shapes);
}
