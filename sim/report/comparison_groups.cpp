#include "sim/report/comparison_groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/core/exactness.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/pair_odds.hpp"

namespace gradwire {
namespace {

constexpr std::size_t names_shown = 6;

double throughput(const ComparisonRow& row) {
  return row.result.at("throughput_samples_per_s").get<double>();
}

double odds(const ComparisonRow& row, const ComparisonRow& other) {
  return odds_of_faster(throughput(row) / throughput(other));
}

std::vector<const ComparisonRow*> ranked(std::span<const ComparisonRow> rows) {
  std::vector<const ComparisonRow*> list;
  for (const ComparisonRow& row : rows) {
    if (row.rank > 0) list.push_back(&row);
  }
  return list;
}

/// "a, b and c", "a, b, c, d, e, f and 3 more".
std::string names_of(std::span<const ComparisonRow* const> rows) {
  // One more name takes no more room than "and 1 more".
  const std::size_t shown = rows.size() <= names_shown + 1 ? rows.size() : names_shown;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == rows.size();
    text += plain_format("{}{}", i == 0 ? "" : last ? " and " : ", ", rows[i]->name);
  }
  return shown == rows.size() ? text : text + plain_format(" and {} more", rows.size() - shown);
}

std::string fastest(std::span<const ComparisonRow* const> rows) {
  const auto last = std::ranges::find_if(rows, [](const auto* row) { return row->group > 1; });
  const auto count = static_cast<std::size_t>(last - rows.begin());
  if (count == rows.size()) return "No significant difference between any of them.\n";
  if (count == 1) {
    return plain_format("Fastest: {}; it beats each of the others with {} or more.\n",
                        rows.front()->name, odds_text(odds(*rows[0], *rows[1])));
  }
  return plain_format("Fastest, no significant difference between these {}: {}.\n", count,
                      names_of(rows.first(count)));
}

}  // namespace

std::string odds_text(double odds) {
  return plain_format("{:.0f} %", std::floor(100 * odds + 1e-9));
}

void group_rows(std::span<ComparisonRow> rows, const std::string& baseline) {
  const auto base = std::ranges::find_if(
      rows, [&](const ComparisonRow& row) { return row.name == baseline && row.rank > 0; });
  const ComparisonRow* first = nullptr;  // of the group
  int group = 0;
  for (ComparisonRow& row : rows) {
    row.group = 0;
    row.beats_baseline.reset();
    if (row.rank == 0) continue;
    if (first == nullptr || odds(*first, row) >= significant_odds) {
      first = &row;
      ++group;
    }
    row.group = group;
    if (base != rows.end() && &row != &*base) row.beats_baseline = odds(row, *base);
  }
}

std::string groups_text(std::span<const ComparisonRow> rows, const std::string& baseline) {
  const auto list = ranked(rows);
  if (list.size() < 2) return "";
  std::string text = "\n" + fastest(list);
  text += plain_format(
      "Groups: none beats another of its group with {0}; the first beats all of later groups with "
      "that or more.\n",
      odds_text(significant_odds));
  const bool has_baseline = std::ranges::any_of(
      list, [](const ComparisonRow* row) { return row->beats_baseline.has_value(); });
  if (has_baseline) {
    text += plain_format(
        "beats {}: how likely it is faster, by how often such differences were measured to be so "
        "(results/reference/training.md).\n",
        baseline);
  }
  const bool all_exact = std::ranges::all_of(list, [](const ComparisonRow* row) {
    return row->result.value("exactness", "") == name_of(Exactness::exact);
  });
  if (!all_exact) {
    text +=
        "Steps: exact: those of synchronous SGD on the whole batch; lossy: gradients lose bits or "
        "elements;\n  stale: older gradients, or models that differ. Lossy and stale ones may need "
        "more steps.\n";
  }
  return text;
}

}  // namespace gradwire
