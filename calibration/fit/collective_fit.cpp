#include "calibration/fit/collective_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "calibration/fit/least_squares.hpp"
#include "sim/collectives/algorithms.hpp"
#include "sim/core/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/statistics.hpp"

namespace gradwire {
namespace {

/// NCCL's latencies of a ring with protocol Simple (v2.28.9, src/graph/tuning.cc: baseLat, hwLat)
/// by class of hops, and a launch of 10 us (assumed): where a fit begins.
constexpr Seconds usual_launch{10e-6 + 8.4e-6};
constexpr std::array<Seconds, hop_classes.size()> usual_hop = {Seconds{3.4e-6}, Seconds{5.7e-6},
                                                               Seconds{14e-6}};
/// Unit of FitSegment::local_pass in the sums: what 1 TB/s of GPU memory takes for a byte.
constexpr Seconds usual_pass{1e-12};
/// Relative error below which a fit is not better: printed times have 3 to 4 digits. Assumed.
constexpr double error_floor = 0.01;
/// A regime of one row is that row, not a regime.
constexpr std::size_t rows_min = 2;

enum Term : std::size_t { launch, local, network, link, pass, terms };
using Sums = LeastSquares<terms>;

Seconds local_hop(HopClass hops) {
  return usual_hop.at(static_cast<std::size_t>(hops == HopClass::pcie ? hops : HopClass::nvlink));
}

void add_row(const FitSample& sample, Sums& sums) {
  const double one = 1 / sample.time.count();
  const auto size = static_cast<double>(sample.size.count());
  const CollectiveShape& shape = sample.shape;
  Sums::Row row{};
  row[launch] = usual_launch.count() * one;
  row[local] = shape.local_steps * local_hop(shape.hops).count() * one;
  row[network] = shape.network_steps * usual_hop.back().count() * one;
  row[link] = size * shape.per_byte.count() * one;
  // A port moves less than 1/10 of what a GPU's memory does (A100: 25 of 1555 GB/s): no pass shows
  // over a network, where one rank count could not tell it from time on the link.
  if (shape.hops != HopClass::network) row[pass] = size * usual_pass.count() * one;
  sums.add(row, 1);
}

void add_prior(HopClass hops, double weight, Sums& sums) {
  for (const Term term : {launch, local, network, link}) {
    if (term == network && hops != HopClass::network) continue;
    Sums::Row row{};
    row[term] = weight;
    sums.add(row, weight);
  }
}

struct Regime {
  FitSegment segment;
  double residual = 0;
  int terms_used = 0;
};

/// The name that most of the samples have, the first of them on a tie.
template <class Name>
std::string most_common(std::span<const FitSample* const> samples, Name name) {
  std::map<std::string, int> count;
  for (const FitSample* sample : samples) ++count[name(*sample)];
  return std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
}

Bytes chunk_of(const FitSample& sample) {
  return Bytes{sample.size.count() / sample.shape.ranks};
}

Regime fit_regime(std::span<const FitSample* const> samples, double prior_weight) {
  const HopClass hops = samples.front()->shape.hops;
  Sums sums;
  for (const FitSample* sample : samples) add_row(*sample, sums);
  add_prior(hops, prior_weight, sums);
  const Sums::Solution solution = sums.non_negative();
  FitSegment segment;
  segment.chunk_first = chunk_of(*samples.front());
  segment.chunk_last = chunk_of(*samples.back());
  segment.algorithm = most_common(samples, [](const FitSample& one) { return one.algorithm; });
  segment.protocol = most_common(samples, [](const FitSample& one) { return one.protocol; });
  segment.launch = solution.weights[launch] * usual_launch;
  segment.hop_local = solution.weights[local] * local_hop(hops);
  segment.hop_network = solution.weights[network] * usual_hop.back();
  segment.link_time = solution.weights[link];
  segment.local_pass = solution.weights[pass] * usual_pass;
  segment.rows = static_cast<int>(samples.size());
  return {segment, solution.residual, solution.used};
}

/// Samples in the order of size / ranks, cut into regimes of least Bayesian information criterion.
class RegimeSearch {
 public:
  RegimeSearch(std::vector<const FitSample*> samples, const FitOptions& options)
      : samples_(std::move(samples)), options_(options) {
    std::ranges::stable_sort(samples_, {}, [](const FitSample* one) { return chunk_of(*one); });
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (i == 0 || chunk_of(*samples_[i]) != chunk_of(*samples_[i - 1])) cuts_.push_back(i);
    }
    cuts_.push_back(samples_.size());
    find_changes();
  }

  [[nodiscard]] std::vector<FitSegment> best() {
    // best_[k][j]: of the samples before cut j in k + 1 regimes; the last begins at cut `from`.
    const std::size_t most = static_cast<std::size_t>(std::max(options_.segments_max, 1));
    std::vector<std::vector<Partial>> partials(most, std::vector<Partial>(cuts_.size()));
    for (std::size_t count = 0; count < most; ++count) {
      for (std::size_t end = 1; end < cuts_.size(); ++end) {
        for (std::size_t begin = 0; begin < end; ++begin) {
          extend(partials, count, begin, end);
        }
      }
    }
    std::optional<std::size_t> chosen;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t count = 0; count < most; ++count) {
      const Partial& whole = partials[count].back();
      if (!std::isfinite(whole.residual)) continue;
      const double criterion = information(whole, count);
      if (criterion < least) {
        least = criterion;
        chosen = count;
      }
    }
    assert(chosen);
    return segments_of(partials, *chosen);
  }

 private:
  struct Partial {
    double residual = std::numeric_limits<double>::infinity();
    int terms_used = 0;
    std::size_t from = 0;
  };

  /// The cuts at which one algorithm ends for good and another begins: a chunk of another one
  /// between two of the same is not a change. None where a chunk has several, or they are too many.
  void find_changes() {
    std::vector<std::string> names;  // by chunk
    for (std::size_t cut = 0; cut + 1 < cuts_.size(); ++cut) {
      const auto rows = std::span(samples_).subspan(cuts_[cut], cuts_[cut + 1] - cuts_[cut]);
      names.push_back(rows.front()->algorithm);
      const bool is_one = std::ranges::all_of(
          rows, [&](const FitSample* row) { return row->algorithm == names.back(); });
      if (!is_one) return;
    }
    for (std::size_t i = 1; i + 1 < names.size(); ++i) {
      if (names[i - 1] == names[i + 1]) names[i] = names[i - 1];
    }
    std::vector<std::size_t> changes;
    for (std::size_t i = 1; i < names.size(); ++i) {
      if (names[i] != names[i - 1]) changes.push_back(i);
    }
    if (changes.size() < static_cast<std::size_t>(std::max(options_.segments_max, 1))) {
      changes_ = std::move(changes);
    }
  }

  const Regime& regime(std::size_t begin, std::size_t end) {
    const auto known = regimes_.find({begin, end});
    if (known != regimes_.end()) return known->second;
    const auto part = std::span<const FitSample* const>(samples_).subspan(
        cuts_[begin], cuts_[end] - cuts_[begin]);
    return regimes_.emplace(std::pair(begin, end), fit_regime(part, options_.prior_weight))
        .first->second;
  }

  void extend(std::vector<std::vector<Partial>>& partials, std::size_t count, std::size_t begin,
              std::size_t end) {
    const bool whole = count == 0 && begin == 0 && end + 1 == cuts_.size();
    if ((count == 0) != (begin == 0)) return;
    if (cuts_[end] - cuts_[begin] < rows_min && !whole) return;
    const bool mixes = std::ranges::any_of(
        changes_, [&](std::size_t change) { return begin < change && change < end; });
    if (mixes) return;
    const Partial before = count == 0 ? Partial{0, 0, 0} : partials[count - 1][begin];
    if (!std::isfinite(before.residual)) return;
    const Regime& added = regime(begin, end);
    Partial& here = partials[count][end];
    if (before.residual + added.residual >= here.residual) return;
    here = {before.residual + added.residual, before.terms_used + added.terms_used, begin};
  }

  /// n log(mean square) + parameters log(n): terms and cuts are the parameters.
  [[nodiscard]] double information(const Partial& whole, std::size_t cuts) const {
    const auto rows = static_cast<double>(samples_.size());
    const double parameters = whole.terms_used + static_cast<double>(cuts);
    return rows * std::log(whole.residual / rows + error_floor * error_floor) +
           parameters * std::log(rows);
  }

  [[nodiscard]] std::vector<FitSegment> segments_of(
      const std::vector<std::vector<Partial>>& partials, std::size_t count) {
    std::vector<FitSegment> segments;
    std::size_t end = cuts_.size() - 1;
    for (std::size_t left = count + 1; left > 0; --left) {
      const std::size_t begin = partials[left - 1][end].from;
      segments.push_back(regime(begin, end).segment);
      end = begin;
    }
    std::ranges::reverse(segments);
    return segments;
  }

  std::vector<const FitSample*> samples_;
  FitOptions options_;
  std::vector<std::size_t> cuts_;  ///< first sample of each chunk, then their number
  /// Cuts that a regime does not pass: it is priced by the steps of one algorithm.
  std::vector<std::size_t> changes_;
  std::map<std::pair<std::size_t, std::size_t>, Regime> regimes_;
};

void add_residuals(std::span<const FitSample> samples, CollectiveFit& fit) {
  std::vector<double> errors;
  for (const FitSample& sample : samples) {
    errors.push_back(std::abs(fitted_time(fit, sample.shape, sample.size) / sample.time - 1));
  }
  const std::vector<double> once(errors.size(), 1);
  fit.residual_p50 = percentile(errors, once, 50);
  fit.residual_p95 = percentile(errors, once, 95);
}

Placement placement_of(const MeasuredSeries& series, const Cluster& cluster) {
  const int each = series.ranks / series.machines;
  bool fits = each * series.machines == series.ranks && series.machines <= cluster.node_count();
  for (int node = 0; fits && node < series.machines; ++node) {
    fits = each <= static_cast<int>(cluster.node(node).gpus().size());
  }
  if (!fits) {
    throw SimulationError(
        fmt::format("{} ranks on {} nodes do not fit the cluster; expected equally many on each of "
                    "its {} nodes",
                    series.ranks, series.machines, cluster.node_count()));
  }
  return packed_placement(std::vector<int>(static_cast<std::size_t>(series.machines), each));
}

}  // namespace

std::vector<FitSample> samples_of(const MeasuredSeries& series, const Cluster& cluster,
                                  const CollectiveLibrary& library) {
  const Placement ranks = placement_of(series, cluster);
  const std::vector<Pattern> planned = library.plan(series.op, ranks);
  std::map<std::string, CollectiveShape> shapes;
  for (const Pattern& pattern : planned) {
    shapes.emplace(pattern.algorithm, shape_of(pattern, cluster));
  }
  std::vector<FitSample> samples;
  for (const MeasuredRow& row : series.rows) {
    FitSample sample{series.op, {}, row.size, row.time, row.algorithm, row.protocol};
    const CollectiveCost cost = library.choose(planned, row.size).cost;
    if (sample.algorithm.empty()) sample.algorithm = cost.algorithm;
    if (sample.algorithm == cost.algorithm) sample.late_messages = cost.late_messages;
    auto shape = shapes.find(sample.algorithm);
    if (shape == shapes.end()) {
      const Pattern pattern = plan_collective(series.op, sample.algorithm, cluster, ranks);
      shape = shapes.emplace(sample.algorithm, shape_of(pattern, cluster)).first;
    }
    sample.shape = shape->second;
    sample.shapes = shapes;
    samples.push_back(std::move(sample));
  }
  return samples;
}

CollectiveFit fit_samples(std::span<const FitSample> samples, const FitOptions& options) {
  assert(!samples.empty());
  CollectiveFit fit;
  fit.op = samples.front().op;
  fit.hops = samples.front().shape.hops;
  std::map<std::pair<std::string, std::string>, std::vector<const FitSample*>> named;
  for (const FitSample& sample : samples) {
    assert(sample.op == fit.op && sample.shape.hops == fit.hops);
    const bool apart = !sample.protocol.empty();
    named[{sample.protocol, apart ? sample.algorithm : ""}].push_back(&sample);
    fit.ranks.push_back(sample.shape.ranks);
  }
  std::ranges::sort(fit.ranks);
  fit.ranks.erase(std::unique(fit.ranks.begin(), fit.ranks.end()), fit.ranks.end());
  for (auto& [name, rows] : named) {
    for (FitSegment& segment : RegimeSearch(std::move(rows), options).best()) {
      fit.segments.push_back(std::move(segment));
    }
  }
  std::ranges::stable_sort(fit.segments, {}, &FitSegment::chunk_first);
  add_residuals(samples, fit);
  return fit;
}

std::vector<CollectiveFit> fit_all(std::span<const FitSample> samples, const FitOptions& options) {
  std::vector<std::pair<std::pair<CollectiveKind, HopClass>, std::vector<FitSample>>> groups;
  for (const FitSample& sample : samples) {
    const std::pair key(sample.op, sample.shape.hops);
    auto group = std::ranges::find(groups, key, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(sample);
  }
  std::vector<CollectiveFit> fits;
  fits.reserve(groups.size());
  for (const auto& [key, rows] : groups) fits.push_back(fit_samples(rows, options));
  return fits;
}

}  // namespace gradwire
