#include "strategies/servers/tictac_order.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace gradwire {
namespace {

/// By tensor its place in `order`.
std::vector<int> ranks_of(const std::vector<TensorId>& order) {
  std::vector<int> ranks(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    ranks[static_cast<std::size_t>(order[place])] = static_cast<int>(place);
  }
  return ranks;
}

/// TAC's properties of the pulls that are left, in seconds. By layer: a chain has them in common.
class PullProperties {
 public:
  explicit PullProperties(const JobView& job)
      : job_(job), left_(job.layers.size(), 0), time_(job.layers.size(), 0) {}

  /// M of a pull.
  [[nodiscard]] double pull_time(TensorId id) const {
    return (job_.message_latency + job_.size_exchanged(job_.tensor(id)) / job_.network_bandwidth)
        .count();
  }

  void update(const std::vector<TensorId>& pulls) {
    std::ranges::fill(left_, 0);
    std::ranges::fill(time_, 0);
    for (const TensorId id : pulls) {
      ++left_[layer_of(id)];
      time_[layer_of(id)] += pull_time(id);
    }
    std::partial_sum(left_.begin(), left_.end(), left_.begin());
    std::partial_sum(time_.begin(), time_.end(), time_.begin());
  }

  /// P: computation that waits for this pull and no other.
  [[nodiscard]] double freed(TensorId id) const {
    double freed = 0;
    for (std::size_t layer = layer_of(id); layer < left_.size() && left_[layer] == 1; ++layer) {
      freed += job_.layers[layer].forward.count();
    }
    return freed;
  }

  /// M+.
  [[nodiscard]] double least_with_others(TensorId id) const {
    std::size_t layer = layer_of(id);
    while (layer < left_.size() && left_[layer] < 2) ++layer;
    return layer < left_.size() ? time_[layer] : std::numeric_limits<double>::infinity();
  }

 private:
  [[nodiscard]] std::size_t layer_of(TensorId id) const {
    return static_cast<std::size_t>(job_.tensor(id).layer);
  }

  const JobView& job_;
  std::vector<int> left_;     ///< by layer: pulls that its forward pass waits for
  std::vector<double> time_;  ///< by layer: their time
};

}  // namespace

std::vector<int> tic_order(const JobView& job) {
  std::size_t layers = 0;
  for (const TensorInfo& tensor : job.tensors) {
    layers = std::max(layers, static_cast<std::size_t>(tensor.layer) + 1);
  }
  // Pulls that the forward operation of each layer needs: its own and those of all before it.
  std::vector<int> needed(layers, 0);
  for (const TensorInfo& tensor : job.tensors) ++needed[static_cast<std::size_t>(tensor.layer)];
  std::partial_sum(needed.begin(), needed.end(), needed.begin());
  const auto fewest = [&needed](const TensorInfo& tensor) {
    // Layers behind need at least as many; one that needs this pull alone does not count.
    auto layer = static_cast<std::size_t>(tensor.layer);
    while (needed[layer] < 2 && layer + 1 < needed.size()) ++layer;
    return needed[layer];
  };
  std::vector<TensorId> tensors(job.tensors.size());
  std::iota(tensors.begin(), tensors.end(), 0);
  std::ranges::stable_sort(tensors, {}, [&](TensorId id) {
    const TensorInfo& tensor = job.tensor(id);
    return std::pair{fewest(tensor), tensor.layer};
  });
  return ranks_of(tensors);
}

std::vector<int> tac_order(const JobView& job) {
  std::vector<TensorId> pulls(job.tensors.size());
  std::iota(pulls.begin(), pulls.end(), 0);
  PullProperties properties(job);
  std::vector<TensorId> order;
  while (!pulls.empty()) {
    properties.update(pulls);
    const auto goes_before = [&properties](TensorId one, TensorId other) {
      const double before = std::min(properties.freed(other), properties.pull_time(one));
      const double behind = std::min(properties.freed(one), properties.pull_time(other));
      if (before != behind) return before < behind;
      return properties.least_with_others(one) < properties.least_with_others(other);
    };
    auto best = pulls.begin();
    for (auto pull = std::next(best); pull != pulls.end(); ++pull) {
      if (goes_before(*pull, *best)) best = pull;
    }
    order.push_back(*best);
    pulls.erase(best);
  }
  return ranks_of(order);
}

}  // namespace gradwire
