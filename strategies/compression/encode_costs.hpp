#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/units.hpp"

namespace gradwire {

/// Where a compressor computes.
enum class CodecDevice : std::uint8_t { gpu, cpu };

/// What measurements say of a coding.
struct MeasuredTime {
  enum class Ground : std::uint8_t {
    inside,    ///< of a size that was measured, or between two of them
    extended,  ///< beyond what was measured, by somebody who asks for it: in proportion
    least,     ///< beyond: only that fewer elements took so long
  };
  Seconds time;
  Ground ground = Ground::inside;
};

/// What compressors were measured to take. Pure.
class EncodeCosts {
 public:
  virtual ~EncodeCosts() = default;
  /// Time of one encoding of `elements` fp32 numbers on the job's GPU, or on a CPU.
  /// @param compressor  its name in a scenario: "topk".
  /// @return nothing where nobody measured it.
  [[nodiscard]] virtual std::optional<MeasuredTime> encode(const std::string& compressor,
                                                           CodecDevice device,
                                                           std::int64_t elements) const = 0;
  /// The same of one decoding into `elements` numbers.
  [[nodiscard]] virtual std::optional<MeasuredTime> decode(const std::string& compressor,
                                                           CodecDevice device,
                                                           std::int64_t elements) const = 0;
};

}  // namespace gradwire
