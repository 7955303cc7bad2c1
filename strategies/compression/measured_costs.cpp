#include "strategies/compression/measured_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradwire {
namespace {

std::optional<Seconds> time_in(const CompressorRow& row, bool encode) {
  return encode ? std::optional(row.encode) : row.decode;
}

}  // namespace

std::optional<Seconds> time_of(const CompressorTable& table, bool encode, std::int64_t elements) {
  const auto n = static_cast<double>(elements);
  if (table.rows.empty()) {
    if (!encode) return std::nullopt;
    return n * std::log2(std::max(n, 2.0)) * table.encode_n_log2_n;
  }
  const auto above = std::ranges::upper_bound(table.rows, elements, {}, &CompressorRow::elements);
  const CompressorRow& nearest = above == table.rows.begin() ? *above : *std::prev(above);
  const auto time = time_in(nearest, encode);
  if (!time) return std::nullopt;
  const auto at = static_cast<double>(nearest.elements);
  if (above == table.rows.begin()) return table.constant_below ? time : n / at * *time;
  if (above == table.rows.end()) return n / at * *time;
  const auto next = time_in(*above, encode);
  if (!next) return std::nullopt;
  const double slope =
      std::log(*next / *time) / std::log(static_cast<double>(above->elements) / at);
  return std::pow(n / at, slope) * *time;
}

std::optional<Seconds> MeasuredCosts::time(const std::string& compressor, CodecDevice device,
                                           std::int64_t elements, bool encode) const {
  const auto own = nearest(preferred_, compressor, device, elements, encode);
  return own ? own : nearest(tables_, compressor, device, elements, encode);
}

std::optional<Seconds> MeasuredCosts::nearest(std::span<const CompressorTable> tables,
                                              const std::string& compressor, CodecDevice device,
                                              std::int64_t elements, bool encode) const {
  std::optional<Seconds> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const auto& table : tables) {
    if (table.compressor != compressor || table.device != device) continue;
    const auto time = time_of(table, encode, elements);
    const double scale =
        device == CodecDevice::gpu ? table.memory_bandwidth / memory_bandwidth_ : 1;
    const double distance = std::abs(std::log(scale));
    if (!time || distance >= best_distance) continue;
    best = scale * *time;
    best_distance = distance;
  }
  return best;
}

std::optional<Seconds> MeasuredCosts::encode(const std::string& compressor, CodecDevice device,
                                             std::int64_t elements) const {
  return time(compressor, device, elements, true);
}
std::optional<Seconds> MeasuredCosts::decode(const std::string& compressor, CodecDevice device,
                                             std::int64_t elements) const {
  return time(compressor, device, elements, false);
}

}  // namespace gradwire
