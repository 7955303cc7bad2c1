#include "sim/collectives/ring_search.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <span>

namespace gradwire {
namespace {

/// Depth-first search for `count` rings or paths at once: a later one that finds no way makes the
/// earlier ones move.
class Search {
 public:
  /// @param ends  as in find_paths; empty: closed rings.
  Search(const LaneMatrix& matrix, std::span<const std::vector<PathEnds>> ends, int count)
      : gpus_(matrix.gpus),
        lanes_(matrix.lanes),
        leave_(matrix.ports),
        enter_(matrix.ports),
        ends_(ends),
        count_(count) {}

  /// @return the orders, or none when there is no way or the effort ran out.
  std::vector<GpuOrder> run() {
    if (!start_next()) orders_.clear();
    return std::move(orders_);
  }

 private:
  bool start_next() {
    if (std::ssize(orders_) == count_) return true;
    if (ends_.empty()) return start_at({0, 0});
    const std::vector<PathEnds>& allowed = ends_[orders_.size()];
    return std::any_of(allowed.begin(), allowed.end(),
                       [this](const PathEnds& ends) { return start_at(ends); });
  }

  bool start_at(const PathEnds& ends) {
    orders_.push_back({ends.first});
    if (extend(ends)) return true;
    orders_.pop_back();
    return false;
  }

  bool extend(const PathEnds& ends) {
    if (--effort_ < 0) return false;
    const std::size_t index = orders_.size() - 1;
    const int at = orders_[index].back();
    if (std::ssize(orders_[index]) == gpus_) {
      if (!ends_.empty()) return at == ends.last && start_next();
      return pass(at, ends.first, [this] { return start_next(); });
    }
    const auto try_next = [&](int next) {
      return pass(at, next, [&] {
        orders_[index].push_back(next);
        if (extend(ends)) return true;
        orders_[index].pop_back();
        return false;
      });
    };
    const std::vector<int> next = candidates(orders_[index], ends);
    return std::any_of(next.begin(), next.end(), try_next);
  }

  /// GPUs that the order may go to, those with the most free lanes from here first, so that the
  /// scarce lanes are left for the rings that need them.
  [[nodiscard]] std::vector<int> candidates(const GpuOrder& order, const PathEnds& ends) const {
    std::vector<int> next;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const bool too_early = !ends_.empty() && gpu == ends.last && std::ssize(order) != gpus_ - 1;
      if (!too_early && std::find(order.begin(), order.end(), gpu) == order.end()) {
        next.push_back(gpu);
      }
    }
    const auto free_lanes = [&](int gpu) {
      return std::min(lanes_[lane(order.back(), gpu)], enter_[static_cast<std::size_t>(gpu)]);
    };
    std::stable_sort(next.begin(), next.end(),
                     [&](int a, int b) { return free_lanes(a) > free_lanes(b); });
    return next;
  }

  /// Takes a lane for as long as `then` searches on, for good when that succeeds.
  template <class Then>
  bool pass(int from, int to, Then then) {
    int& lanes = lanes_[lane(from, to)];
    int& leave = leave_[static_cast<std::size_t>(from)];
    int& enter = enter_[static_cast<std::size_t>(to)];
    if (lanes == 0 || leave == 0 || enter == 0) return false;
    --lanes, --leave, --enter;
    if (then()) return true;
    ++lanes, ++leave, ++enter;
    return false;
  }

  [[nodiscard]] std::size_t lane(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) +
           static_cast<std::size_t>(to);
  }

  int gpus_;
  std::vector<int> lanes_;
  std::vector<int> leave_;
  std::vector<int> enter_;
  std::span<const std::vector<PathEnds>> ends_;
  int count_;
  std::int64_t effort_ = ring_search_effort;
  std::vector<GpuOrder> orders_;
};

/// Rings that can pass a GPU at most: its free lanes.
int ring_bound(const LaneMatrix& matrix) {
  int bound = matrix.ports.front();
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
    const auto row = matrix.lanes.begin() + static_cast<std::ptrdiff_t>(gpu) * matrix.gpus;
    bound = std::min({bound, matrix.ports[static_cast<std::size_t>(gpu)],
                      std::accumulate(row, row + matrix.gpus, 0)});
  }
  return bound;
}

}  // namespace

std::vector<GpuOrder> find_rings(const LaneMatrix& matrix) {
  if (matrix.gpus < 2) return {};
  for (int count = ring_bound(matrix); count > 0; --count) {
    std::vector<GpuOrder> rings = Search(matrix, {}, count).run();
    if (!rings.empty()) return rings;
  }
  return {};
}

std::vector<GpuOrder> find_paths(const LaneMatrix& matrix,
                                 const std::vector<std::vector<PathEnds>>& ends) {
  assert(matrix.gpus > 0);
  for (int count = static_cast<int>(ends.size()); count > 0; --count) {
    std::vector<GpuOrder> paths = Search(matrix, ends, count).run();
    if (!paths.empty()) return paths;
  }
  return {};
}

}  // namespace gradwire
