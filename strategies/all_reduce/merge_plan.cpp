#include "strategies/all_reduce/merge_plan.hpp"

#include <algorithm>
#include <cassert>

#include "strategies/parts/rehearsal.hpp"

namespace gradwire {
namespace {

/// Sizes of _benchmark_communication: multiples of this, in elements, below the limit.
constexpr std::int64_t fit_step = 8LL * 1024;
constexpr std::int64_t fit_limit = 512LL * 1024;

Bytes bytes_of(std::int64_t elements) {
  return Bytes{elements * gradient_element_size};
}

/// A group that the rule is still adding to: where it ends among the items, and what is in it.
struct Open {
  int items = 0;
  std::int64_t elements = 0;
};

}  // namespace

LinearCost fit_cost(const std::function<Seconds(Bytes)>& all_reduce_time) {
  double count = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (std::int64_t elements = fit_step; elements < fit_limit; elements += fit_step) {
    const auto x = static_cast<double>(bytes_of(elements).count());
    const double y = all_reduce_time(bytes_of(elements)).count();
    count += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double beta = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
  return {Seconds{std::max(0.0, (sum_y - beta * sum_x) / count)}, Seconds{beta}};
}

std::vector<MergeItem> merge_items(const JobView& job, Seconds hook_sync) {
  const auto ready = ready_times(
      job, [](const LayerView& layer) { return std::max(layer.backward, layer.backward_launch); });
  std::vector<MergeItem> items;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    items.push_back({ready[i] + static_cast<double>(i + 1) * hook_sync,
                     job.tensor(job.gradient_order[i]).elements});
  }
  return items;
}

Seconds finish_time(const std::vector<MergeItem>& items, const Grouping& grouping,
                    const LinearCost& cost) {
  Seconds end{};
  std::size_t next = 0;
  for (const int size : grouping) {
    std::int64_t elements = 0;
    for (int i = 0; i < size; ++i) elements += items[next++].elements;
    end = std::max(end, items[next - 1].ready) + cost.of(bytes_of(elements));
  }
  assert(next == items.size());
  return end;
}

Grouping merge_by_rule(const std::vector<MergeItem>& items, const LinearCost& cost,
                       const MergeRule& rule) {
  assert(!items.empty());
  Grouping grouping;
  Seconds end{};  // of the groups that are closed
  Open open{1, items[0].elements};
  for (std::size_t next = 1; next < items.size(); ++next) {
    // The group starts when its last gradient is there: all of it is before `next`.
    const Seconds start = std::max(end, items[next - 1].ready);
    const Seconds group_end = start + cost.of(bytes_of(open.elements));
    const Seconds ready = items[next].ready;
    bool merge = open.elements < rule.small;
    if (ready < group_end) {
      merge = merge || start > ready || (rule.wait_for_alpha && ready - start < cost.alpha);
    }
    if (merge) {
      ++open.items;
      open.elements += items[next].elements;
    } else {
      grouping.push_back(open.items);
      end = group_end;
      open = {1, items[next].elements};
    }
  }
  grouping.push_back(open.items);
  return grouping;
}

Grouping merge_optimally(const std::vector<MergeItem>& items, const LinearCost& cost) {
  std::vector<Seconds> best_end(items.size() + 1, Seconds{});
  std::vector<std::size_t> begin_of(items.size() + 1, 0);
  for (std::size_t last = 1; last <= items.size(); ++last) {
    std::int64_t elements = 0;
    for (std::size_t begin = last; begin-- > 0;) {
      elements += items[begin].elements;
      const Seconds end =
          std::max(best_end[begin], items[last - 1].ready) + cost.of(bytes_of(elements));
      if (begin + 1 == last || end <= best_end[last]) {
        best_end[last] = end;
        begin_of[last] = begin;
      }
    }
  }
  Grouping grouping;
  for (std::size_t last = items.size(); last > 0; last = begin_of[last]) {
    grouping.push_back(static_cast<int>(last - begin_of[last]));
  }
  std::ranges::reverse(grouping);
  return grouping;
}

}  // namespace gradwire
