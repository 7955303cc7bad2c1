#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/statistics.hpp"
#include "sim/validation/interval_fit.hpp"

namespace gradwire::validation {
namespace {

constexpr const char* intervals_introduction =
    R"(# How wide intervals are, and why

Made by `gradwire validate --write results/reference`. A prediction's interval is to hold nine jobs in ten. It is the root of
the sum of squares of doubts, each a width times a share of the iteration (`gradwire list keys` and docs/scenario.md say which:
`doubts` in the JSON). Widths are those of the least interval score over all scored rows of training jobs, whatever is known of their
single GPU; sim/validation/interval_fit.hpp has the rule. *Shipped* is what profiles/libraries/doubts.yaml has, *fitted* what the rule
gives on these rows, in steps of a tenth; `several_gpus` and `machines` are of the whole iteration (the second times the root of the
doublings of one machine), `exposed` and `hidden` of communication that compute does not hide, and that it hides, over `tcp` and
otherwise, `ports` of all communication where nobody has stated how many ports the machines have.

)";

/// Tried once on these rows, each beside the others by the same rule: nothing makes it anew.
constexpr const char* tried_doubts = R"(
## Doubts that were tried

One more doubt each, fitted with the others by the same rule on the rows of 2026-11-29: rows inside by widths that the other
series gave, and half an interval by them in the median. The first three hold no more and are no narrower. The last holds
more, most of them of the eighth blind test, but by names alone it is wider than the 30 % that are asked: not taken.

| doubt | rows that have it | inside | of blind tests' | half, one GPU known | half, by names |
| --- | --: | --: | --: | --: | --: |
| none | | 84.1 % | 82.6 % | 14.7 % | 29.1 % |
| of parameter servers' communication | 183 | 84.0 % | 82.5 % | 14.7 % | 29.2 % |
| of communication by other libraries than NCCL | 166 | 83.7 % | 82.4 % | 14.5 % | 29.1 % |
| of an iteration under other frameworks than PyTorch | 560 | 83.1 % | 81.0 % | 14.7 % | 29.0 % |
| of FSDP's, DeepSpeed's and Megatron's communication | 219 | 85.4 % | 84.6 % | 15.0 % | 32.6 % |

On the 2026 rows of 2026-11-30, likewise (none: 84.2 %, 82.4 %, 15.5 % and 28.7 %): of images on several machines, which somebody
may have to read, 83.8 % inside; of more than 5000 of them a second on a machine 84.0 %; of 10 ms of every iteration no width at
all; of GPUs without peer access 84.3 %, 15.6 % and 28.7 %. Of half precision 85.0 %, but 24 % and 39 % wide: not taken.
)";

/// Rows and how many of them an interval holds.
struct Held {
  std::size_t rows = 0;
  std::size_t shipped = 0;
  std::size_t fitted = 0;
  std::size_t by_others = 0;
};

std::string line(const std::string& name, const Held& held) {
  const auto share = [&](std::size_t inside) {
    return fmt::format("{} ({:.0f} %)", inside,
                       100.0 * static_cast<double>(inside) / static_cast<double>(held.rows));
  };
  return fmt::format("| {} | {} | {} | {} | {} |\n", name, held.rows, share(held.shipped),
                     share(held.fitted), share(held.by_others));
}

std::string widths_table(const DoubtWidths& shipped, const DoubtWidths& fitted) {
  std::string text =
      "| width | shorter, shipped | fitted | longer, shipped | fitted |\n"
      "| --- | --: | --: | --: | --: |\n";
  for (const auto& [name, width] : doubt_widths) {
    text +=
        fmt::format("| `{}` | {:.3g} | {:.2g} | {:.3g} | {:.2g} |\n", name, (shipped.*width).low,
                    (fitted.*width).low, (shipped.*width).high, (fitted.*width).high);
  }
  return text;
}

/// Half of the interval, the median. REQUIRES: rows is not empty.
double half_width(const std::vector<DoubtedRow>& rows, const DoubtWidths& widths) {
  std::vector<double> halves;
  for (const DoubtedRow& row : rows) {
    const RelativeError ends = ends_of(row, widths);
    halves.push_back((ends.low + ends.high) / 2);
  }
  return median(halves);
}

}  // namespace

std::string intervals_page(std::span<const SeriesReport> reports, const DoubtWidths& shipped) {
  const std::vector<DoubtedRow> rows = doubted_rows(reports);
  const DoubtWidths fitted = fit_widths(rows);
  std::string series_lines;
  Held total;
  for (std::size_t series = 0; series < reports.size(); ++series) {
    std::vector<DoubtedRow> others;
    std::vector<DoubtedRow> own;
    for (const DoubtedRow& row : rows) (row.series == series ? own : others).push_back(row);
    if (own.empty()) continue;
    const DoubtWidths by_others = fit_widths(others);
    const auto inside = [&](const DoubtWidths& widths) {
      const auto within = [&](const DoubtedRow& row) { return holds(row, widths); };
      return static_cast<std::size_t>(std::ranges::count_if(own, within));
    };
    const Held held{own.size(), inside(shipped), inside(fitted), inside(by_others)};
    series_lines += line(reports[series].name, held);
    total.rows += held.rows;
    total.shipped += held.shipped;
    total.fitted += held.fitted;
    total.by_others += held.by_others;
  }
  return intervals_introduction + widths_table(shipped, fitted) +
         fmt::format(
             "\nRows of each series within their intervals, also by widths that all other series "
             "give. Half of an\ninterval in the median, of times: {:.1f} %.\n\n"
             "| series | rows | shipped | fitted | by the other series |\n"
             "| --- | --: | --: | --: | --: |\n",
             100 * half_width(rows, shipped)) +
         series_lines + line("**all**", total) + tried_doubts;
}

}  // namespace gradwire::validation
