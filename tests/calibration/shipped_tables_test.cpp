#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/core/statistics.hpp"
#include "tests/calibration/published.hpp"
#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

CollectiveTable shipped(const std::string& name) {
  return config::read_collective_table(
      config::load_yaml(GRADWIRE_SOURCE_DIR "/profiles/collectives/" + name + ".yaml"));
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(GRADWIRE_SOURCE_DIR "/profiles/collectives")) {
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

bool same_rows(const MeasuredSeries& a, const MeasuredSeries& b) {
  return std::ranges::equal(a.rows, b.rows, [](const MeasuredRow& left, const MeasuredRow& right) {
    return left.size == right.size &&
           left.time.count() == Approx(right.time.count()).epsilon(1e-12);
  });
}

/// The all-reduces of B-Caffe's logs, which stand in another file: rows are [bytes, microseconds].
void add_host_all_reduces(std::vector<test::PublishedSeries>& all) {
  const auto file = test::published_tables().replace_filename("mpi_gloo.yaml");
  for (const config::YamlValue& item : config::load_yaml(file.string()).items) {
    if (!item.find("id")->text.starts_with("bcaffe-osu-allreduce")) continue;
    test::PublishedSeries one{item.find("id")->text, item.find("source")->text, {}};
    one.series.op = CollectiveKind::all_reduce;
    one.series.ranks = std::stoi(item.find("ranks")->text);
    one.series.machines = std::stoi(item.find("nodes")->text);
    for (const config::YamlValue& row : item.find("rows")->items) {
      one.series.rows.push_back({Bytes{std::stoll(row.items.at(0).text)},
                                 Seconds{std::stod(row.items.at(1).text) * 1e-6}, "", ""});
    }
    all.push_back(std::move(one));
  }
}

}  // namespace

TEST_CASE("The rows of shipped tables are those that were published", "[fit][published]") {
  if (test::skipped_without(test::published_tables())) return;
  auto published = test::read_published();
  add_host_all_reduces(published);
  std::size_t found = 0;
  for (const std::string& name : shipped_names()) {
    for (const MeasuredSeries& series : shipped(name).series) {
      INFO(name << ": " << name_of(series.op) << " on " << series.ranks << " ranks, "
                << series.machines << " nodes");
      CHECK(std::ranges::any_of(published, [&](const test::PublishedSeries& one) {
        return one.series.op == series.op && one.series.ranks == series.ranks &&
               one.series.machines == series.machines && same_rows(one.series, series);
      }));
      ++found;
    }
  }
  CHECK(found == published.size());
}

TEST_CASE("Shipped fits have the residuals that they tell", "[fit]") {
  const std::map<std::string, std::string> nodes = {{"dgx1v_nccl", "dgx1v"},
                                                    {"vtrain_a100", "dgx_a100"}};
  for (const std::string& name : shipped_names()) {
    const CollectiveTable table = shipped(name);
    if (table.fits.empty()) continue;
    INFO(name);
    REQUIRE(nodes.contains(name));
    const test::Machine where =
        test::machine("cluster: {node: " + nodes.at(name) + ", nodes: 1, gpus_per_node: 8}");
    for (const CollectiveFit& fit : table.fits) {
      std::vector<double> errors;
      for (MeasuredSeries series : table.series) {
        if (series.op != fit.op || series.machines > 1) continue;
        for (MeasuredRow& row : series.rows) row.algorithm = fit.segments.front().algorithm;
        for (const FitSample& sample : samples_of(series, *where.cluster, *where.library)) {
          errors.push_back(std::abs(fitted_time(fit, sample.shape, sample.size) / sample.time - 1));
        }
      }
      const std::vector<double> once(errors.size(), 1);
      CHECK(percentile(errors, once, 50) == Approx(fit.residual_p50).epsilon(1e-3));
      CHECK(percentile(errors, once, 95) == Approx(fit.residual_p95).epsilon(1e-3));
    }
  }
}

}  // namespace gradwire
