#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "calibration/fit/hold_out.hpp"
#include "sim/cli/calibrate_node_parts.hpp"
#include "sim/report/bandwidth_svg.hpp"
#include "sim/report/profile_svg.hpp"

namespace gradwire::cli {
namespace {

/// The measured rows of one operation, and the same sizes by its fits: two curves for each number
/// of ranks and machines.
std::vector<CollectiveReport> curves_of(CollectiveKind op, const std::vector<FitSample>& samples) {
  std::vector<FitSample> own;
  std::ranges::copy_if(samples, std::back_inserter(own),
                       [&](const FitSample& sample) { return sample.op == op; });
  std::vector<HeldOutRow> rows = predict(own, own);
  const auto shape_of = [](const HeldOutRow& row) {
    return std::tuple(row.sample.shape.ranks, row.sample.shape.machines);
  };
  std::ranges::stable_sort(rows, {}, [&](const HeldOutRow& row) {
    return std::tuple_cat(shape_of(row), std::tuple(row.sample.size));
  });
  std::vector<CollectiveReport> curves;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FitSample& sample = rows[i].sample;
    if (i == 0 || shape_of(rows[i]) != shape_of(rows[i - 1])) {
      for (const char* what : {"measured", "fitted"}) {
        CollectiveReport curve;
        curve.kind = op;
        curve.ranks = sample.shape.ranks;
        curve.label = fmt::format("{} ranks, {}", curve.ranks, what);
        curves.push_back(std::move(curve));
      }
    }
    CollectiveReport::Row row;
    row.bytes = sample.size.count();
    row.algorithm = sample.algorithm;
    row.protocol = sample.protocol;
    row.seconds = sample.time.count();
    curves[curves.size() - 2].rows.push_back(row);
    row.seconds = rows[i].predicted.count();
    curves.back().rows.push_back(row);
  }
  return curves;
}

}  // namespace

std::vector<Picture> node_pictures(const NodeFindings& findings) {
  std::vector<Picture> pictures;
  for (const FittedRecording& recording : findings.recordings) {
    const ComputeProfile& profile = recording.fit.recorded.profile;
    if (profile.tensor_count() == 0 || !(profile.backward() > Seconds{})) continue;
    pictures.push_back({recording.name + ".svg", profile_svg(profile)});
  }
  for (const CollectiveKind op : collective_kinds()) {
    const std::vector<CollectiveReport> curves = curves_of(op, findings.samples);
    if (curves.empty()) continue;
    const std::string name(name_of(op));
    pictures.push_back({name + ".svg", bandwidth_svg(curves, name + ", measured and fitted")});
  }
  return pictures;
}

}  // namespace gradwire::cli
