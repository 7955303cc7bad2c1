#include "strategies/compression/measured_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gradwire {
namespace {

std::optional<Seconds> time_in(const CompressorRow& row, bool encode) {
  return encode ? std::optional(row.encode) : row.decode;
}

/// The part of a table's times that is not traffic.
Seconds launches_in(const CompressorTable& table, bool encode) {
  constexpr std::size_t curve_least = 2;  // one row does not tell launches from memory
  if (!table.constant_below || table.rows.size() < curve_least) return Seconds{0};
  const auto least = [&](Seconds sum, const CompressorRow& row) {
    return std::min(sum, time_in(row, encode).value_or(sum));
  };
  const Seconds first = time_in(table.rows.front(), encode).value_or(Seconds{0});
  return std::accumulate(table.rows.begin(), table.rows.end(), first, least);
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

std::optional<MeasuredTime> told_by(const CompressorTable& table, bool encode,
                                    std::int64_t elements, bool extends) {
  using Ground = MeasuredTime::Ground;
  const auto time = time_of(table, encode, elements);
  if (!time) return std::nullopt;
  const bool law = table.rows.empty();
  const bool point = table.rows.size() == 1 && !table.constant_below;
  const bool below = !law && !table.constant_below && elements < table.rows.front().elements;
  const bool above = !law && elements > table.rows.back().elements;
  if (!law && !below && !above && (extends || !point)) return MeasuredTime{*time, Ground::inside};
  if (extends) return MeasuredTime{*time, Ground::extended};
  if (!above || point) return std::nullopt;
  const auto last = time_in(table.rows.back(), encode);
  return MeasuredTime{*last, Ground::least};
}

std::optional<MeasuredTime> MeasuredCosts::time(const std::string& compressor, CodecDevice device,
                                                std::int64_t elements, bool encode) const {
  const auto own = nearest(preferred_, compressor, device, elements, encode, true);
  return own ? own : nearest(tables_, compressor, device, elements, encode, false);
}

std::optional<MeasuredTime> MeasuredCosts::nearest(std::span<const CompressorTable> tables,
                                                   const std::string& compressor,
                                                   CodecDevice device, std::int64_t elements,
                                                   bool encode, bool extends) const {
  std::optional<MeasuredTime> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (const auto& table : tables) {
    if (table.compressor != compressor || table.device != device) continue;
    const auto told = told_by(table, encode, elements, extends);
    const double scale =
        device == CodecDevice::gpu ? table.memory_bandwidth / memory_bandwidth_ : 1;
    const double distance = std::abs(std::log(scale));
    if (!told || distance >= best_distance) continue;
    const Seconds launches = launches_in(table, encode);
    best = MeasuredTime{launches + scale * (told->time - launches), told->ground};
    best_distance = distance;
  }
  return best;
}

std::optional<MeasuredTime> MeasuredCosts::encode(const std::string& compressor, CodecDevice device,
                                                  std::int64_t elements) const {
  return time(compressor, device, elements, true);
}
std::optional<MeasuredTime> MeasuredCosts::decode(const std::string& compressor, CodecDevice device,
                                                  std::int64_t elements) const {
  return time(compressor, device, elements, false);
}

}  // namespace gradwire
