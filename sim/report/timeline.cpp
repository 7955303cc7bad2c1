#include "sim/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gradwire {
namespace {

constexpr std::array<std::string_view, 4> resource_order = {"host", "compute", "copy",
                                                            "communication"};

auto rank_of(std::string_view resource) {
  return std::find(resource_order.begin(), resource_order.end(), resource);
}

/// Spans of one resource that overlap (host threads) cannot share a row: each goes to the first row
/// that is free by then; the second row is called "host 2".
void append_lanes(const TimelineRow& row, std::vector<TimelineRow>& rows) {
  constexpr double same_instant = 1e-12;  // s, of rounding
  const std::size_t first = rows.size();
  std::vector<double> ends;
  for (const Span* span : row.spans) {
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&](double end) { return end <= span->start + same_instant; });
    const auto lane = static_cast<std::size_t>(free - ends.begin());
    if (free == ends.end()) {
      rows.push_back({row.worker, row.resource, {}});
      if (lane > 0) rows.back().resource += fmt::format(" {}", lane + 1);
      ends.push_back(0);
    }
    ends[lane] = span->start + span->duration;
    rows[first + lane].spans.push_back(span);
  }
}

}  // namespace

std::vector<TimelineRow> timeline_rows(const std::vector<Span>& spans) {
  std::vector<std::string> workers;
  std::vector<TimelineRow> rows;
  const auto worker_rank = [&](const std::string& worker) {
    return std::find(workers.begin(), workers.end(), worker) - workers.begin();
  };
  for (const Span& span : spans) {
    if (std::find(workers.begin(), workers.end(), span.worker) == workers.end()) {
      workers.push_back(span.worker);
    }
    auto row = std::find_if(rows.begin(), rows.end(), [&](const TimelineRow& r) {
      return r.worker == span.worker && r.resource == span.resource;
    });
    if (row == rows.end()) row = rows.insert(row, {span.worker, span.resource, {}});
    row->spans.push_back(&span);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const TimelineRow& a, const TimelineRow& b) {
    return std::pair(worker_rank(a.worker), rank_of(a.resource)) <
           std::pair(worker_rank(b.worker), rank_of(b.resource));
  });
  for (TimelineRow& row : rows) {
    std::stable_sort(row.spans.begin(), row.spans.end(),
                     [](const Span* a, const Span* b) { return a->start < b->start; });
  }
  std::vector<TimelineRow> lanes;
  for (const TimelineRow& row : rows) append_lanes(row, lanes);
  return lanes;
}

double timeline_start(const std::vector<Span>& spans) {
  const auto first = std::min_element(
      spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  return first == spans.end() ? 0 : first->start;
}

SpanKind kind_of(const Span& span) {
  if (span.name == "wait" || span.name == "spin") return SpanKind::wait;
  if (span.resource == "communication") return SpanKind::communication;
  if (span.resource == "copy") return SpanKind::copy;
  if (span.resource == "host") return SpanKind::host;
  const std::string_view word = std::string_view(span.name).substr(0, span.name.find(' '));
  if (word == "forward") return SpanKind::forward;
  if (word == "backward") return SpanKind::backward;
  if (word == "optimizer" || word == "update") return SpanKind::optimizer;
  return SpanKind::other;
}

}  // namespace gradwire
