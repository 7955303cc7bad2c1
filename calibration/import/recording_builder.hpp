#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calibration/capture/inject/record_format.hpp"
#include "calibration/import/kernel_names.hpp"
#include "calibration/import/record_chunks.hpp"
#include "calibration/import/recording.hpp"

namespace gradwire::calibration {

/// Gathers records in any order of chunks, then joins what refers to each other.
class RecordingBuilder {
 public:
  /// @param file  the recording's name, for refusals
  /// @throws ConfigError  more records than a trace may have
  void add(const ChunkRecord& record, const std::string& file);
  /// The recording of all that was added; the builder is empty then.
  /// @param cut_off  the file ends within a chunk
  /// @throws ConfigError  its rank or its times cannot be
  [[nodiscard]] Recording finish(bool cut_off, const std::string& file);

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

}  // namespace gradwire::calibration
