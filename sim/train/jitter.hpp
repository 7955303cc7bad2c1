#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/core/placement.hpp"
#include "sim/core/scenario.hpp"

namespace gradwire {

/// Ranks whose compute runs alike share one entry: without jitter only the static speeds differ.
struct MemberGroup {
  int rank = 0;          ///< the first rank of the group; its draws are the group's
  int count = 1;         ///< ranks in it
  double speed = 1;      ///< device time / profile's device time, static
  int worker_class = 0;  ///< of GPUs
  int rank_class = 0;    ///< what they do
  double start = 0;      ///< seconds, of the first iteration
  int inputs = endless;  ///< iterations that there are inputs for

  static constexpr int endless = std::numeric_limits<int>::max();
};

/// Members that stand side by side, at most `lanes_most`, take the same GPU through the same work:
/// where each such block begins, and behind the last one how many members there are.
[[nodiscard]] std::vector<std::size_t> block_starts(const std::vector<MemberGroup>& members);

/// What beside their speed tells ranks apart.
struct RankKinds {
  std::span<const int> worker_class{};  ///< of each rank; empty: all of class 0
  std::span<const int> rank_class{};    ///< the same of what they do
  std::span<const int> inputs{};        ///< iterations that each has inputs for; empty: all
  bool together = true;                 ///< ranks that run alike share a group, else none do
};

/// The distinct clocks of a job, in order of first rank.
///
/// Static speeds follow the expected order statistics of a normal spread (Blom's plotting
/// positions, Statistical Estimates and Transformed Beta-Variables, 1958): of N GPUs the slowest is
/// as slow as the slowest of N is on average, so that one prediction is not one lucky draw. The
/// seed decides which rank gets which; a single GPU is the median one. A rank whose machine has
/// others takes 1 + `several_gpus` times as long.
[[nodiscard]] std::vector<MemberGroup> make_members(const Placement& placement,
                                                    const JitterSpec& jitter,
                                                    const std::vector<StragglerSpec>& stragglers,
                                                    const ComputeProfile& profile,
                                                    std::uint64_t seed,
                                                    const RankKinds& kinds = {});

/// How many times as long as without stragglers each rank computes.
[[nodiscard]] std::vector<double> straggler_factors(int world_size,
                                                    const std::vector<StragglerSpec>& stragglers,
                                                    std::uint64_t seed);

/// Iterations that each rank has inputs for; empty without entries.
[[nodiscard]] std::vector<int> inputs_of_ranks(int world_size,
                                               const std::vector<InputSpec>& uneven);

/// Lets members begin at times spread over `period` seconds: each somewhere in a part of its own,
/// in an order that the seed decides.
void spread_starts(std::vector<MemberGroup>& members, double period, std::uint64_t seed);

/// How many times as long as their mean the messages take that a worker moves by an exchange in an
/// iteration: log-normal, of mean 1. Shares of links that are always equal would leave the phases
/// of workers as they are, and each phase has a throughput of its own; real connections share
/// unequally for some time, and workers drift apart.
class MessageDraws {
 public:
  /// @param spread  standard deviation, >= 0.
  MessageDraws(double spread, std::uint64_t seed);

  /// Keyed by (seed, iteration, exchange).
  [[nodiscard]] double stretch(int iteration, int exchange) const;

 private:
  std::uint64_t seed_;
  double sigma_;  ///< of the logarithm
};

/// Factors that change from iteration to iteration, keyed by (seed, iteration, rank, layer): adding
/// a straggler or changing the strategy re-rolls nobody.
class IterationDraws {
 public:
  IterationDraws(const JitterSpec& jitter, const ComputeProfile& profile, std::uint64_t seed);

  /// Draws iteration `iteration` for these members.
  void draw(int iteration, const std::vector<MemberGroup>& members);

  /// The one that was drawn last, from 0.
  [[nodiscard]] int iteration() const { return number_; }
  /// Whether any factor may differ from 1.
  [[nodiscard]] bool vary() const { return iteration_sigma_ > 0 || layers_vary_; }
  /// The member at each place: of alike neighbours, those that take about as long in this iteration
  /// stand beside each other. Empty, always or never: each at its own number.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  /// Iteration-wide factor of a member.
  [[nodiscard]] double iteration_factor(std::size_t member) const {
    return iteration_.empty() ? 1 : iteration_[member];
  }
  /// Residual factors of a layer, of a block's members by place; the same for its forward and
  /// backward. Empty: all are 1. `layer` -1: no residual.
  [[nodiscard]] std::span<const float> layer_factors(int layer, std::size_t block) const {
    if (layer < 0 || layer_.empty()) return {};
    const std::size_t first = starts_[block];
    const std::size_t count = starts_[block + 1] - first;
    return std::span(layer_).subspan(
        first * sigma_.size() + static_cast<std::size_t>(layer) * count, count);
  }
  [[nodiscard]] double layer_factor(std::size_t member, int layer) const;

 private:
  void draw_order(const std::vector<MemberGroup>& members);
  void draw_layers(const std::vector<MemberGroup>& members);
  void draw_layers(const std::vector<MemberGroup>& members, std::size_t block);
  void draw_block(std::size_t block, std::span<const std::uint64_t> keys);

  std::uint64_t seed_;
  int number_ = 0;
  double iteration_sigma_;
  std::vector<double> sigma_;  ///< by layer
  bool layers_vary_;
  std::vector<double> iteration_;     ///< by member
  std::vector<std::uint32_t> order_;  ///< members, by place
  std::vector<std::size_t> starts_;   ///< of blocks
  std::vector<float> layer_;          ///< by block, layer and place: what is used together
};

}  // namespace gradwire
