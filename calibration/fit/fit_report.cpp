#include "calibration/fit/fit_report.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "calibration/fit/hold_out.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire {
namespace {

std::vector<FitSample> samples_of_fit(const CollectiveFit& fit,
                                      std::span<const FitSample> samples) {
  std::vector<FitSample> own;
  std::ranges::copy_if(samples, std::back_inserter(own), [&](const FitSample& sample) {
    return sample.op == fit.op && sample.shape.hops == fit.hops;
  });
  return own;
}

std::string errors_text(const ErrorSummary& errors) {
  if (errors.rows == 0) return plain_format("{:>6} {:>7} {:>7} {:>7}", "-", "-", "-", "-");
  return plain_format("{:>6} {:>5.1f} % {:>5.1f} % {:>5.1f} %", errors.rows, 100 * errors.mean,
                      100 * errors.p90, 100 * errors.worst);
}

std::string size_text(Bytes size) {
  const auto bytes = static_cast<double>(size.count());
  if (bytes >= 0x1p30) return plain_format("{:.4g} GiB", bytes / 0x1p30);
  if (bytes >= 0x1p20) return plain_format("{:.4g} MiB", bytes / 0x1p20);
  return bytes >= 0x1p10 ? plain_format("{:.4g} KiB", bytes / 0x1p10)
                         : plain_format("{:.4g} B", bytes);
}

std::string dash_if_empty(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string segment_line(const CollectiveFit& fit, const FitSegment& segment,
                         const CollectiveShape& shape) {
  const bool across = fit.hops == HopClass::network;
  const double bus = bus_factor(fit.op, shape.ranks) * 1e-9;
  const Seconds a_byte =
      std::max(shape.per_byte, segment.link_time * shape.per_byte + segment.local_pass);
  return plain_format(
      "{:<15} {:<8} {:>10} - {:<10} {:<10} {:<8} {:>8.1f} {:>6.2f} / {:<6.2f} {:>6} / {:<6} "
      "{:>7.1f} / {:<7.1f}\n",
      name_of(fit.op), name_of(fit.hops), size_text(segment.chunk_first),
      size_text(segment.chunk_last), dash_if_empty(segment.algorithm),
      dash_if_empty(segment.protocol), segment.launch.count() * 1e6,
      segment.hop_local.count() * 1e6, shape.local_latency.count() * 1e6,
      across ? plain_format("{:.2f}", segment.hop_network.count() * 1e6) : "-",
      across ? plain_format("{:.2f}", shape.network_latency.count() * 1e6) : "-",
      bus / a_byte.count(), bus / shape.per_byte.count());
}

}  // namespace

std::string error_table(std::span<const FitSample> samples, int folds, Bytes from,
                        const FitOptions& options) {
  std::string text = plain_format(
      "Errors from {} on: rows, mean, 90th percentile, worst\n{:<15} {:<8} {:<12} {:<30} {:<30} "
      "{}\n",
      size_text(from), "operation", "hops", "ranks", "calibration",
      plain_format("hold-out over sizes, {}-fold", folds), "hold-out over rank counts");
  for (const CollectiveFit& fit : fit_all(samples, options)) {
    const std::vector<FitSample> own = samples_of_fit(fit, samples);
    text += plain_format("{:<15} {:<8} {:<12} {} {} {}\n", name_of(fit.op), name_of(fit.hops),
                         plain_format("{}", joined_by(fit.ranks, ",")),
                         errors_text(summarise(predict(own, own, options), from)),
                         errors_text(summarise(fold_over_sizes(own, folds, options), from)),
                         errors_text(summarise(fold_over_ranks(own, options), from)));
  }
  return text;
}

std::string segment_table(std::span<const CollectiveFit> fits, std::span<const FitSample> samples) {
  std::string text = plain_format(
      "Fitted / of the links: latency a hop in us, bus bandwidth in GB/s on the most ranks\n"
      "{:<15} {:<8} {:>10} - {:<10} {:<10} {:<8} {:>8} {:>15} {:>15} {:>17}\n",
      "operation", "hops", "size/ranks", "", "algorithm", "protocol", "launch", "hop inside",
      "hop between", "bandwidth");
  for (const CollectiveFit& fit : fits) {
    const std::vector<FitSample> own = samples_of_fit(fit, samples);
    for (const FitSegment& segment : fit.segments) {
      const auto rank_count = [&](const FitSample& sample) {
        return sample.algorithm == segment.algorithm ? sample.shape.ranks : 0;
      };
      const auto most = std::ranges::max_element(own, {}, rank_count);
      text += segment_line(fit, segment, most->shape);
    }
  }
  return text;
}

}  // namespace gradwire
