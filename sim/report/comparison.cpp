#include "sim/report/comparison.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/comparison_groups.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

double throughput(const ComparisonRow& row) {
  return row.result.at("throughput_samples_per_s").get<double>();
}

SpeedUp speed_up(const ComparisonRow& row, const ComparisonRow& baseline) {
  if (row.name == baseline.name) return {};
  const double mean = throughput(row) / throughput(baseline);
  const auto with = [&](const char* compute) {
    const auto seconds = [&](const ComparisonRow& r) {
      return r.result.at("at_compute").at(compute).get<double>();
    };
    return seconds(baseline) / seconds(row);
  };
  const auto [low, high] = std::minmax({mean, with("faster_s"), with("slower_s")});
  return {mean, low, high};
}

/// How far an iteration's bounds by coding that is not measured may be apart.
constexpr double comparable_ratio = 1.25;

/// Why coding whose time is not measured decides the result; empty where it does not.
std::string undecided(const Json& result) {
  const Json& coding = result.at("coding_estimate_s");
  const auto value = [&](const char* key) { return coding.at(key).get<double>(); };
  const double rest = result.at("iteration_time_s").at("mean").get<double>() - value("mean");
  const double low = rest + value("low");
  const double high = rest + value("high");
  if (value("mean") <= 0 || high <= comparable_ratio * low) return "";
  return plain_format(
      "{:.1f} ms of coding are counted, not measured, and may be {:.1f} to {:.1f}: an iteration of "
      "{:.1f} to {:.1f} ms; 'compressor_costs' takes measured times",
      1e3 * value("mean"), 1e3 * value("low"), 1e3 * value("high"), 1e3 * low, 1e3 * high);
}

/// By how much a GPU's memory is too small; empty where all fits, or nobody knows.
std::string does_not_fit(const Json& result) {
  const auto memory = result.find("memory_bytes");
  if (memory == result.end() || !memory->contains("capacity")) return "";
  const double needed = memory->at("allocated").get<double>() + memory->at("context").get<double>();
  const double capacity = memory->at("capacity").get<double>();
  if (needed <= capacity) return "";
  return plain_format("{}: a GPU would keep some {} at once, and has {}", no_fit,
                      readable_bytes(needed), readable_bytes(capacity));
}

std::string why_not_comparable(const Json& result) {
  std::string why = does_not_fit(result);
  return why.empty() ? undecided(result) : why;
}

Standing standing_of(const ComparisonRow& row, const std::string& baseline) {
  if (row.name == baseline) return Standing::ranked;
  if (row.result.value("strategy", "") == "none") return Standing::bound;
  return why_not_comparable(row.result).empty() ? Standing::ranked : Standing::not_comparable;
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::ranked:
      return "ranked";
    case Standing::bound:
      return "bound";
    case Standing::not_comparable:
      break;
  }
  return "not comparable";
}

/// The bound first, what cannot run last.
int section(const ComparisonRow& row) {
  if (!row.has_result()) return 3;
  if (row.standing == Standing::bound) return 0;
  return row.standing == Standing::ranked ? 1 : 2;
}

/// As the table names it.
std::string title_of(const ComparisonRow& row) {
  return row.standing == Standing::bound ? plain_format("bound: {} (no communication)", row.name)
                                         : row.name;
}

bool has_staleness(const ComparisonRow& row) {
  return row.has_result() && row.result.contains("staleness");
}

/// What the lines of a table have in common.
struct Columns {
  std::string baseline;
  std::size_t width = std::string_view("strategy").size();  ///< of the names
  bool staleness = false;
  PartColumns parts{};
  WorkColumns work{};

  [[nodiscard]] std::string odds_head() const { return "beats " + baseline; }
  [[nodiscard]] std::string odds_cell(const std::string& text) const {
    return plain_format("{:>{}}", text, odds_head().size() + 3);
  }
};

/// How its steps stand to those of synchronous SGD; of the bound that does not matter.
std::string steps_of(const ComparisonRow& row) {
  return row.standing == Standing::bound ? "-" : row.result.value("exactness", "-");
}

std::string number_of(int rank_or_group) {
  return rank_or_group > 0 ? std::to_string(rank_or_group) : "-";
}

std::string line_of(const ComparisonRow& row, const Columns& columns) {
  const Json& r = row.result;
  std::string gain = row.name == columns.baseline ? "baseline" : "-";
  if (row.speed_up && row.name != columns.baseline) {
    gain = plain_format("{:.2f} [{:.2f}, {:.2f}]", row.speed_up->mean, row.speed_up->low,
                        row.speed_up->high);
  }
  std::string text = plain_format(
      "{:>4}{:>7}  {:<{}}  {:<5}{:>12.2f}{:>13.1f}{}{}{:>12}{:>21}{}", number_of(row.rank),
      number_of(row.group), title_of(row), columns.width, steps_of(row),
      1e3 * r["iteration_time_s"]["mean"].get<double>(), throughput(row), columns.work.line(r),
      columns.parts.line(r), readable_bytes(r["communication"]["bytes_per_rank"].get<double>()),
      gain, columns.odds_cell(row.beats_baseline ? odds_text(*row.beats_baseline) : "-"));
  if (columns.staleness) {
    text += has_staleness(row) ? plain_format("{:>11.2f}", r["staleness"].get<double>())
                               : plain_format("{:>11}", "-");
  }
  return text + '\n';
}

/// The lines of those that are not comparable, and why.
std::string apart(std::span<const ComparisonRow> rows, const Columns& columns) {
  std::string lines;
  std::string reasons;
  for (const ComparisonRow& row : rows) {
    if (!row.has_result() || row.standing != Standing::not_comparable) continue;
    lines += line_of(row, columns);
    reasons += plain_format("  {}: {}\n", row.name, row.why);
  }
  return lines.empty() ? lines : "\nNot comparable:\n" + lines + reasons;
}

/// What is reported of rows, each text once, first what is of all.
std::string notes(std::span<const ComparisonRow> rows) {
  std::vector<std::string> texts;  // as they come
  std::map<std::string, std::vector<std::string>> names;
  std::size_t ranked = 0;
  for (const ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    ++ranked;
    for (const Json& warning : row.result.value("warnings", Json::array())) {
      const auto text = warning.at("text").get<std::string>();
      std::vector<std::string>& of = names[text];
      if (of.empty()) texts.push_back(text);
      if (of.empty() || of.back() != row.name) of.push_back(row.name);
    }
  }
  const auto is_of_all = [&](const std::string& text) { return names[text].size() == ranked; };
  std::stable_partition(texts.begin(), texts.end(), is_of_all);
  std::string list;
  for (const std::string& text : texts) {
    list +=
        plain_format("  {}: {}\n", is_of_all(text) ? "all" : joined_by(names[text], ", "), text);
  }
  return list.empty() ? list : "\nNotes:\n" + list;
}

}  // namespace

Json SpeedUp::json() const {
  return {{"mean", mean}, {"low", low}, {"high", high}};
}

void rank_rows(std::vector<ComparisonRow>& rows, const std::string& baseline) {
  for (ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    row.standing = standing_of(row, baseline);
    row.why = row.standing == Standing::not_comparable ? why_not_comparable(row.result) : "";
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ComparisonRow& a, const ComparisonRow& b) {
    if (section(a) != section(b)) return section(a) < section(b);
    if (!a.has_result()) return false;
    return std::make_tuple(-throughput(a), a.name) < std::make_tuple(-throughput(b), b.name);
  });
  const auto base = std::find_if(rows.begin(), rows.end(), [&](const ComparisonRow& row) {
    return row.name == baseline && row.has_result();
  });
  int rank = 0;
  for (ComparisonRow& row : rows) {
    if (!row.has_result()) continue;
    row.rank = row.standing == Standing::ranked ? ++rank : 0;
    if (base != rows.end()) row.speed_up = speed_up(row, *base);
  }
  group_rows(rows, baseline);
}

std::string comparison_table(std::span<const ComparisonRow> rows, const std::string& baseline) {
  Columns columns{.baseline = baseline};
  for (const ComparisonRow& row : rows) {
    columns.staleness = columns.staleness || has_staleness(row);
    if (!row.has_result()) continue;
    columns.width = std::max(columns.width, title_of(row).size());
    columns.parts.add(row.result);
    columns.work.add(row.result);
  }
  std::string text = plain_format(
      "{:>4}{:>7}  {:<{}}  {:<5}{:>12}{:>13}{}{}{:>12}{:>21}{}{}\n", "rank", "group", "strategy",
      columns.width, "steps", "iter (ms)", "samples/s", columns.work.head(), columns.parts.head(),
      "sent/rank", "speed-up over " + baseline, columns.odds_cell(columns.odds_head()),
      columns.staleness ? plain_format("{:>11}", "staleness") : "");
  int group = 1;  // of the row before
  for (const ComparisonRow& row : rows) {
    if (!row.has_result() || row.standing == Standing::not_comparable) continue;
    if (row.group > group) text += '\n';
    group = std::max(group, row.group);
    text += line_of(row, columns);
  }
  text += groups_text(rows, baseline);
  text += apart(rows, columns);
  text += notes(rows);
  bool first = true;
  for (const ComparisonRow& row : rows) {
    if (row.has_result()) continue;
    if (first) text += "\nWithout a result:\n";
    text += plain_format("  {}: {}\n", row.name, row.error);
    first = false;
  }
  return text;
}

nlohmann::ordered_json comparison_json(std::span<const ComparisonRow> rows,
                                       const std::string& baseline) {
  Json list = Json::array();
  for (const ComparisonRow& row : rows) {
    Json entry = row.has_result() ? row.result : Json::object();
    entry["label"] = row.name;
    if (row.has_result()) {
      entry["standing"] = name_of(row.standing);
      if (row.rank > 0) entry.update({{"rank", row.rank}, {"group", row.group}});
      if (row.beats_baseline) entry["beats_baseline"] = *row.beats_baseline;
      if (!row.why.empty()) entry["why"] = row.why;
      if (row.speed_up) {
        entry["speed_up"] = {{"over", baseline}};
        entry["speed_up"].update(row.speed_up->json());
      }
    } else {
      entry["error"] = row.error;
    }
    list.push_back(std::move(entry));
  }
  return {{"schema", results_schema}, {"gradwire_version", gradwire_version}, {"results", list}};
}

std::vector<ResultRow> comparison_rows(std::span<const ComparisonRow> rows) {
  std::vector<ResultRow> list;
  for (const ComparisonRow& row : rows) {
    Json result = row.result;
    if (row.has_result()) {
      result["standing"] = name_of(row.standing);
      const auto number = [](int value) { return value > 0 ? std::to_string(value) : ""; };
      result["rank"] = number(row.rank);
      result["group"] = number(row.group);
      result["beats_baseline"] = row.beats_baseline ? Json(*row.beats_baseline) : Json("");
      if (row.speed_up) result["speed_up"] = row.speed_up->json();
    }
    list.push_back({{{"label", row.name}}, std::move(result), row.error});
  }
  return list;
}

}  // namespace gradwire
