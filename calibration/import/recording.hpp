#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/trace/trace.hpp"

namespace gradwire::calibration {

/// The same instant on three clocks, nanoseconds.
struct ClockReading {
  Nanoseconds monotonic = 0;  ///< of the trace's records
  Nanoseconds realtime = 0;   ///< since 1970: joins the files of several nodes
  Nanoseconds cupti = 0;      ///< CUPTI's own; 0: no CUPTI
};

/// What the recorder cost and lost.
struct RecorderCost {
  std::uint64_t callbacks = 0;    ///< our calls on the program's threads
  Nanoseconds in_callbacks = 0;   ///< time in them, estimated from one in 16
  Nanoseconds in_background = 0;  ///< time in CUPTI's buffer callbacks, on its threads
  std::uint64_t dropped_ranges = 0;
  std::uint64_t dropped_device = 0;
  std::uint64_t unstamped = 0;        ///< device records without a time
  std::uint64_t wide_texts = 0;       ///< wchar_t names, not kept
  std::uint64_t buffers_missing = 0;  ///< CUPTI kept them: another profiler in the program
};

/// NVLinks between two GPUs, or between one and an NVSwitch or CPU.
struct NvlinkRecord {
  std::string first;   ///< uuid "GPU-xxxxxxxx-..."; empty: not a GPU
  std::string second;  ///< uuid; empty: not a GPU
  int version = 0;
  int links = 0;
  std::int64_t bytes_per_second = 0;  ///< all links, one direction
  bool nvswitch = false;
  bool operator==(const NvlinkRecord&) const = default;
};

/// A GPU or a bridge on PCIe.
struct PcieRecord {
  bool bridge = false;
  std::uint32_t id = 0;
  std::string uuid;  ///< of a GPU
  std::uint32_t domain = 0;
  int generation = 0;
  int gigatransfers_per_second = 0;
  int width = 0;
  std::uint32_t upstream_bus = 0;
  std::uint32_t secondary_bus = 0;
  bool operator==(const PcieRecord&) const = default;
};

/// A file of the recorder's (.gwr).
struct Recording {
  Trace trace;
  std::string mode;  ///< "light" or "full"
  std::string host;
  std::string command;
  int pid = 0;
  int cupti = 0;                   ///< version of the CUPTI that ran, 130001; 0: none
  int cupti_headers = 0;           ///< version that the recorder was built with
  std::string no_device;           ///< why no GPU was recorded; empty: it was
  std::vector<std::string> notes;  ///< what CUPTI refused, and the like
  RecorderCost cost;
  std::uint64_t iterations = 0;   ///< marks of iterations that were seen, recorded or not
  std::uint64_t open_ranges = 0;  ///< begun and not ended in the file: not in the trace
  std::vector<ClockReading> clocks;
  std::vector<NvlinkRecord> nvlinks;
  std::vector<PcieRecord> pcie;
};

/// Reads a file of the recorder's. Names of kernels are demangled; of a PyTorch operator's range
/// ("aten::conv2d, seq = 12, op_id = 99") the sequence number is split off. What a killed program
/// left is read as far as it is whole, and Trace::cut_off is set.
/// @throws ConfigError  the file cannot be read, is something else, or is damaged; it names the
/// byte
[[nodiscard]] Recording read_recording(const std::string& file);

/// The recorder's files in `folder` (name *.gwr), by name.
/// @throws ConfigError  the folder cannot be read
[[nodiscard]] std::vector<std::string> recording_files(const std::string& folder);

/// An operator's range as PyTorch's emit_nvtx names it (torch/csrc/profiler/util.cpp, getNvtxStr):
/// the name, then ", seq = N", ", op_id = N", ", sizes = [...]" and ", input_op_ids = [...]", each
/// where known.
struct OperatorName {
  std::string_view name;
  std::int64_t sequence = no_sequence;
  std::string_view shapes{};  ///< "[[32, 3], [3, 4]]"; empty: unknown
};
[[nodiscard]] OperatorName split_operator_name(std::string_view text);

}  // namespace gradwire::calibration
