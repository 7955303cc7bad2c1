#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/report/point.hpp"

namespace gradwire {

/// What ACP-SGD's optimizer allocates for gradients.
struct AcpsgdMemory {
  Bytes gradients{0};
  std::vector<Bytes> p;  ///< buffers of the steps that reduce P, in order
  std::vector<Bytes> q;
};

/// Its lines: "Memory (MB) Grad: 97.49, P: 1.05, Q: 1.62" and the buffers' sizes, with MB of 2^20
/// bytes. Source: lzhangbv/acpsgd, acpsgd.py.
[[nodiscard]] std::string acpsgd_memory_lines(const AcpsgdMemory& memory);

/// A point as ACP-SGD's imagenet_benchmark.py prints it, or for BERT bert_benchmark.py. "Iteraction
/// time" is theirs: seconds of a batch, mean and 1.96 population deviations of the rates' tens.
[[nodiscard]] std::string acpsgd_lines(const Point& point);

/// All-reduces of one kind of tensors: each by itself, one after the other, and all in one buffer.
struct FusionTimes {
  std::string_view name;      ///< "M": gradients; "P", "Q": factors
  std::size_t tensors = 0;    ///< vectors stay as they are
  std::int64_t elements = 0;  ///< of all
  Seconds apart{};
  Seconds fused{};
};

/// As ACP-SGD's comm_time.py prints them.
[[nodiscard]] std::string comm_time_lines(std::span<const FusionTimes> kinds);

}  // namespace gradwire
