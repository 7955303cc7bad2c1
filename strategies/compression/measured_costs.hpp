#pragma once

#include <span>
#include <string>
#include <vector>

#include "strategies/compression/encode_costs.hpp"

namespace gradwire {

/// What a compressor took for some numbers of fp32 elements.
struct CompressorRow {
  std::int64_t elements = 0;
  Seconds encode;
  std::optional<Seconds> decode;
};

/// Measurements of one compressor on one device: rows, or a law.
struct CompressorTable {
  std::string compressor;
  CodecDevice device = CodecDevice::gpu;
  /// Nominal, of the GPU it was measured on; 0 on a CPU.
  BytesPerSecond memory_bandwidth{};
  std::vector<CompressorRow> rows{};  ///< more elements in each row than before
  /// Below the first row times stay as they are there (launches bound them), else they shrink with
  /// the elements.
  bool constant_below = true;
  /// Instead of rows: the encoding of n elements takes this times n log2 n.
  Seconds encode_n_log2_n{};
};

/// Time of a table: between rows on a line in log-log, above the last proportional to the elements.
/// @param encode  else the decoding; nothing where the table has none.
/// REQUIRES: elements >= 1.
[[nodiscard]] std::optional<Seconds> time_of(const CompressorTable& table, bool encode,
                                             std::int64_t elements);

/// What `table` says of so many elements. Inside are the sizes from its first row to its last, and
/// fewer where times stay as they are; one row that says nothing of fewer elements is no range, and
/// a law has none. Above, fewer elements took what the last row says.
/// @param extends  beyond its range as well, in proportion or by the law.
[[nodiscard]] std::optional<MeasuredTime> told_by(const CompressorTable& table, bool encode,
                                                  std::int64_t elements, bool extends);

/// Tables, for one GPU: of several of a compressor the one counts whose GPU is nearest in memory
/// bandwidth, and its times beyond the launches are scaled by the ratio of the two. Launches
/// are the least of a table's rows, where times stay as they are below the first; 0 of a single row
/// or of a law. Preferred
/// tables count before the others, however far their GPU, and extend beyond their range.
class MeasuredCosts final : public EncodeCosts {
 public:
  /// @param memory_bandwidth  nominal, of the job's GPU.
  MeasuredCosts(std::vector<CompressorTable> tables, BytesPerSecond memory_bandwidth,
                std::vector<CompressorTable> preferred = {})
      : tables_(std::move(tables)),
        preferred_(std::move(preferred)),
        memory_bandwidth_(memory_bandwidth) {}

  [[nodiscard]] std::optional<MeasuredTime> encode(const std::string& compressor,
                                                   CodecDevice device,
                                                   std::int64_t elements) const override;
  [[nodiscard]] std::optional<MeasuredTime> decode(const std::string& compressor,
                                                   CodecDevice device,
                                                   std::int64_t elements) const override;

 private:
  [[nodiscard]] std::optional<MeasuredTime> time(const std::string& compressor, CodecDevice device,
                                                 std::int64_t elements, bool encode) const;
  [[nodiscard]] std::optional<MeasuredTime> nearest(std::span<const CompressorTable> tables,
                                                    const std::string& compressor,
                                                    CodecDevice device, std::int64_t elements,
                                                    bool encode, bool extends) const;

  std::vector<CompressorTable> tables_;
  std::vector<CompressorTable> preferred_;
  BytesPerSecond memory_bandwidth_;
};

}  // namespace gradwire
