#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gradwire::calibration {

/// Nanoseconds on the clock of the recording, from a zero of its own.
using Nanoseconds = std::int64_t;

/// Index into Trace::names.
using NameId = std::uint32_t;
constexpr NameId no_name = std::numeric_limits<NameId>::max();

/// Texts that occur many times, each kept once.
class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  ~NameTable() = default;

  /// The id of `name`, new or known; what is no UTF-8 or a control character is escaped in it. Ids
  /// count from 0.
  NameId id(std::string_view name);
  [[nodiscard]] const std::string& operator[](NameId name) const { return *texts_[name]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  /// Looks a text up without a copy of it.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, NameId, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*>
      texts_;  ///< keys of ids_, which stay where they are, moved or not
};

enum class DeviceKind : std::uint8_t { kernel, copy, peer_copy, memset };

/// Which memories a copy joins, as CUPTI counts them (CUpti_ActivityMemcpyKind).
enum class CopyKind : std::uint8_t {
  unknown = 0,
  host_to_device = 1,
  device_to_host = 2,
  device_to_device = 8,
  peer_to_peer = 10
};

/// Something that ran on a GPU.
struct DeviceRecord {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  NameId name = 0;
  std::uint32_t correlation = 0;  ///< of the call that launched it; 0: not known
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::int64_t bytes = 0;   ///< of a copy or a memset
  std::uint32_t graph = 0;  ///< CUDA graph it ran in; 0: none. All its records share a correlation.
  std::uint32_t blocks = 0;  ///< of a kernel's grid
  DeviceKind kind = DeviceKind::kernel;
  CopyKind copy = CopyKind::unknown;
};

/// A call of the CUDA runtime or driver.
struct CallRecord {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  NameId name = 0;
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;
};

constexpr std::int64_t no_sequence = -1;

/// A named stretch of one host thread: an NVTX range, a PyTorch operator, a module's call.
struct RangeRecord {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  NameId name = 0;    ///< without what the next fields hold
  NameId domain = 0;  ///< NVTX domain, or the category of a Kineto event
  std::uint32_t thread = 0;
  /// PyTorch's number of the autograd node that the operator would make.
  std::int64_t sequence = no_sequence;
  std::uint64_t external = 0;  ///< id that links device work to it; 0: none
  std::int64_t bytes = 0;      ///< message size, where a collective's range carries one
  /// Shapes of an operator's inputs as the source writes them: "[[32, 3, 224, 224], [64, 3, 7,
  /// 7]]".
  NameId shapes = no_name;
};

/// A named instant of one host thread.
struct MarkRecord {
  Nanoseconds time = 0;
  NameId name = 0;
  NameId domain = 0;
  std::uint32_t thread = 0;
};

/// What is known of the collective that a kernel ran.
struct CollectiveRecord {
  std::uint32_t correlation = 0;  ///< of the kernel's launch
  NameId operation = no_name;     ///< as its library names it: "allreduce"
  std::int64_t elements = 0;      ///< of one rank's input
  NameId dtype = no_name;
  int ranks = 0;  ///< 0: unknown
};

/// Which range was innermost when a call was made, as the recorder knew it.
struct LinkRecord {
  std::uint32_t correlation = 0;
  std::uint64_t external = 0;
};

/// What is known of a GPU; zero or empty where the source does not say.
struct DeviceProperties {
  std::uint32_t id = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  bool mig = false;  ///< a slice of a GPU that MIG splits: the counts above are the slice's
};

/// What one process did, as its recorder told it: our own, PyTorch's, Nsight Systems'. In no
/// particular order; attribution sorts.
struct Trace {
  std::string tool;  ///< who recorded it, and its version
  std::string file;
  NameTable names;
  std::vector<DeviceRecord> device;
  std::vector<CallRecord> calls;
  std::vector<RangeRecord> ranges;
  std::vector<MarkRecord> marks;
  std::vector<LinkRecord> links;
  std::vector<CollectiveRecord> collectives;
  std::vector<DeviceProperties> devices;
  int rank = 0;
  int world_size = 1;
  std::uint64_t dropped = 0;  ///< records that the recorder lost
  bool cut_off = false;       ///< ends without its end: what is whole was read
  /// What this kind of file could hold and this one lacks, each in words that name it ("sequence
  /// numbers of autograd nodes").
  std::vector<std::string> missing;
};

}  // namespace gradwire::calibration
