#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

/// What a .gwr file holds: shared by the recorder, which writes it, and by the reader.
///
/// A file is a FileHeader and chunks. A chunk is a ChunkHeader and records; it is written whole, so
/// that what a killed program leaves ends, at worst, within its last chunk. A record is one of the
/// structs below, then its text, then zeros up to a multiple of 8 bytes. Little-endian, as every
/// machine with an NVIDIA GPU. Times are nanoseconds of CLOCK_MONOTONIC.
namespace gradwire::calibration::gwr {

/// Tells a transfer in text mode, and a file of something else.
constexpr std::array<char, 8> file_magic{'G', 'W', 'R', '\r', '\n', '\x1a', '\n', '\0'};
constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t chunk_magic = 0x4b4e4843;  // "CHNK"
/// No chunk is longer: the recorder's buffers are smaller.
constexpr std::uint32_t chunk_bytes_max = 64U << 20U;
/// Longer texts are cut.
constexpr std::uint32_t text_bytes_max = 8192;

struct FileHeader {
  std::array<char, 8> magic = file_magic;
  std::uint32_t version = format_version;
  std::uint32_t bytes = 16;  ///< of this header
};

struct ChunkHeader {
  std::uint32_t magic = chunk_magic;
  std::uint32_t bytes = 0;     ///< of the records that follow
  std::uint32_t sequence = 0;  ///< counts from 0
  std::uint32_t thread = 0;    ///< whose ranges and marks it holds; 0: of no thread
  std::uint32_t payload_crc = 0;
  std::uint32_t header_crc = 0;  ///< of the five fields above
};

enum class RecordKind : std::uint16_t {
  padding = 0,    ///< to be skipped
  fact = 1,       ///< text "key=value": who recorded what, where
  name = 2,       ///< a name that later records refer to
  kernel = 3,     ///<
  copy = 4,       ///<
  peer_copy = 5,  ///<
  memset = 6,     ///<
  call = 7,       ///< of the CUDA runtime or driver
  link = 8,       ///< range of a call
  push = 9,       ///< begins a range of the chunk's thread
  pop = 10,       ///< ends it
  start = 11,     ///< begins a range that any thread may end
  end = 12,       ///<
  mark = 13,      ///<
  device = 14,    ///<
  nvlink = 15,    ///<
  pcie = 16,      ///<
  clock = 17,     ///<
  summary = 18,   ///< what the recorder lost and cost, so far
  thread = 19     ///< the two numbers of one thread
};

struct RecordHeader {
  RecordKind kind = RecordKind::padding;
  std::uint16_t bytes = 0;       ///< of the whole record, a multiple of 8
  std::uint32_t text_bytes = 0;  ///< of its text, without the zeros
};

struct Fact {
  RecordHeader header;
};

struct Name {
  RecordHeader header;
  std::uint32_t id = 0;  ///< from 1; 0 means no name
  std::uint32_t reserved = 0;
};

struct Kernel {
  RecordHeader header;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t graph = 0;
  std::uint32_t blocks = 0;
};

/// A copy, a peer copy or a memset.
struct Transfer {
  RecordHeader header;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t bytes = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t graph = 0;
  std::uint32_t copy_kind = 0;    ///< CUpti_ActivityMemcpyKind
  std::uint32_t destination = 0;  ///< device of a peer copy
};

struct Call {
  RecordHeader header;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t name = 0;
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;
  std::uint32_t reserved = 0;
};

struct Link {
  RecordHeader header;
  std::uint64_t range = 0;
  std::uint32_t correlation = 0;
  std::uint32_t reserved = 0;
};

/// push, start; mark with no id. Its text is the range's name.
struct RangeBegin {
  RecordHeader header;
  std::int64_t time = 0;
  std::uint64_t id = 0;      ///< unique in the file
  std::int64_t bytes = 0;    ///< message size that NCCL gave; 0: none
  std::uint32_t domain = 0;  ///< a name; 0: NVTX's default domain
  std::uint32_t reserved = 0;
};

/// pop, end.
struct RangeEnd {
  RecordHeader header;
  std::int64_t time = 0;
  std::uint64_t id = 0;
};

/// Its text is the GPU's name.
struct Device {
  RecordHeader header;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_bytes_per_second = 0;
  std::uint32_t id = 0;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t mig = 0;
  std::array<std::uint8_t, 16> uuid{};
};

/// All NVLinks between two devices.
struct Nvlink {
  RecordHeader header;
  std::array<std::uint8_t, 16> first{};   ///< uuid; zeros: not a GPU
  std::array<std::uint8_t, 16> second{};  ///< uuid; zeros: not a GPU
  std::int64_t bytes_per_second = 0;      ///< all links, one direction
  std::uint32_t version = 0;
  std::uint32_t links = 0;
  std::uint32_t nvswitch = 0;  ///< 1: they go to an NVSwitch
  std::uint32_t reserved = 0;
};

/// A GPU or a bridge on PCIe.
struct Pcie {
  RecordHeader header;
  std::uint32_t bridge = 0;  ///< 1: a bridge
  std::uint32_t id = 0;      ///< device or bridge
  std::uint32_t domain = 0;
  std::uint32_t generation = 0;
  std::uint32_t gigatransfers_per_second = 0;
  std::uint32_t width = 0;  ///< lanes
  std::uint32_t upstream_bus = 0;
  std::uint32_t secondary_bus = 0;      ///< of a bridge
  std::array<std::uint8_t, 16> uuid{};  ///< of a GPU
};

/// CUPTI's records of calls name a thread by the low half of its pthread_t in some versions.
struct Thread {
  RecordHeader header;
  std::uint32_t thread = 0;   ///< gettid()
  std::uint32_t pthread = 0;  ///< low half of pthread_self()
};

/// The same instant on three clocks.
struct Clock {
  RecordHeader header;
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
  std::int64_t cupti = 0;  ///< cuptiGetTimestamp; 0: no CUPTI
};

struct Summary {
  RecordHeader header;
  std::uint64_t last = 0;             ///< 1: the recorder ended in order
  std::uint64_t callbacks = 0;        ///< calls of ours by the program's threads
  std::uint64_t overhead_ns = 0;      ///< time in them: each 16th is timed, and counts 16 times
  std::uint64_t background_ns = 0;    ///< time in CUPTI's buffer callbacks, all timed
  std::uint64_t dropped_ranges = 0;   ///< for want of memory
  std::uint64_t dropped_device = 0;   ///< by CUPTI, or ours for want of memory
  std::uint64_t unstamped = 0;        ///< device records without a time
  std::uint64_t wide_texts = 0;       ///< wchar_t names, which are not kept
  std::uint64_t iterations = 0;       ///< marks of iterations seen, recorded or not
  std::uint64_t buffers_missing = 0;  ///< given to CUPTI and never returned
};

template <class Record>
constexpr bool is_record =
    std::is_trivially_copyable_v<Record>&& std::is_standard_layout_v<Record> &&
    sizeof(Record) % 8 == 0;
static_assert(sizeof(FileHeader) == 16 && sizeof(ChunkHeader) == 24 && sizeof(RecordHeader) == 8);
static_assert(is_record<Fact> && is_record<Name> && is_record<Link> && is_record<RangeEnd>);
static_assert(is_record<Kernel> && sizeof(Kernel) == 48);
static_assert(is_record<Transfer> && sizeof(Transfer) == 56);
static_assert(is_record<Call> && sizeof(Call) == 40);
static_assert(is_record<RangeBegin> && sizeof(RangeBegin) == 40);
static_assert(is_record<Device> && sizeof(Device) == 64);
static_assert(is_record<Nvlink> && is_record<Pcie> && is_record<Clock> && is_record<Summary> &&
              is_record<Thread>);

}  // namespace gradwire::calibration::gwr
