#pragma once

#include "sim/core/units.hpp"

namespace gradwire {

/// One core adding one array of floats to another. Our measurement: 14.2 GB/s of the result at 4
/// and 16 MiB, a loop of gcc 12 -O2 -ftree-vectorize on one core of an Intel Xeon (2026-11-20; 34
/// GB/s up to 256 KiB, 3.8 GB/s at 64 MiB).
constexpr BytesPerSecond cpu_sum_rate{14.2e9};

/// The same for arrays that no cache holds: from cpu_sum_memory_from on.
constexpr BytesPerSecond cpu_sum_rate_memory{3.8e9};
constexpr Bytes cpu_sum_cached_up_to{16LL * 1024 * 1024};
constexpr Bytes cpu_sum_memory_from{64LL * 1024 * 1024};

/// How many times as long as at cpu_sum_rate the sum of an array of this size takes: 1 up to
/// cpu_sum_cached_up_to, 3.7 from cpu_sum_memory_from on, log-log between them.
[[nodiscard]] double cpu_sum_slowdown(Bytes size);

}  // namespace gradwire
