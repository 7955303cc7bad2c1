#include "sim/train/jitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/core/random.hpp"

namespace gradwire {
namespace {

/// A factor never falls below this: a normal law has no floor, a GPU has. Assumed: a fifth
/// of the median's time, which is 8 sigma away at a spread of 10 %.
constexpr double factor_min = 0.2;
/// Stream numbers of draws that belong to no iteration or to no layer.
constexpr std::uint64_t static_stream = 0xffff'ffffU;
constexpr std::uint64_t whole_iteration = 0xffff'fffeU;
constexpr std::uint64_t straggler_stream = 0xffff'fffdU;
constexpr std::uint64_t start_stream = 0xffff'fffcU;
constexpr std::uint64_t message_stream = 0xffff'fffbU;

/// Ranks in the order of a draw that depends on seed and rank only.
std::vector<int> shuffled_ranks(int world_size, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::pair<double, int>> order;
  order.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    order.emplace_back(
        standard_normal(seed, static_stream, static_cast<std::uint64_t>(rank), stream), rank);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> ranks;
  ranks.reserve(order.size());
  for (const auto& entry : order) ranks.push_back(entry.second);
  return ranks;
}

void apply_stragglers(std::vector<double>& speed, const StragglerSpec& spec, std::uint64_t seed) {
  if (!spec.ranks.empty()) {
    for (const int rank : spec.ranks) speed[static_cast<std::size_t>(rank)] *= spec.compute;
    return;
  }
  const int world_size = static_cast<int>(speed.size());
  if (spec.fraction == 0) return;
  const auto count = std::max<std::int64_t>(1, std::llround(spec.fraction * world_size));
  const auto order = shuffled_ranks(world_size, seed, straggler_stream);
  for (std::int64_t i = 0; i < count; ++i) {
    speed[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] *= spec.compute;
  }
}

}  // namespace

std::vector<double> straggler_factors(int world_size, const std::vector<StragglerSpec>& stragglers,
                                      std::uint64_t seed) {
  std::vector<double> factors(static_cast<std::size_t>(world_size), 1.0);
  for (const auto& spec : stragglers) apply_stragglers(factors, spec, seed);
  return factors;
}

namespace {

std::vector<double> layer_sigmas(const JitterSpec& jitter, const ComputeProfile& profile) {
  std::vector<double> sigma;
  for (const auto& layer : profile.layers) sigma.push_back(jitter.layer.value_or(layer.stdev));
  return sigma;
}

}  // namespace

std::vector<MemberGroup> make_members(int world_size, const JitterSpec& jitter,
                                      const std::vector<StragglerSpec>& stragglers,
                                      const ComputeProfile& profile, std::uint64_t seed,
                                      const RankKinds& kinds) {
  const auto count = static_cast<std::size_t>(world_size);
  std::vector<double> speed(count, 1.0);
  if (jitter.rank > 0) {
    const auto order = shuffled_ranks(world_size, seed, static_stream);
    for (std::size_t i = 0; i < count; ++i) {
      const double p = (static_cast<double>(i) + 1 - 0.375) / (world_size + 0.25);  // Blom
      speed[static_cast<std::size_t>(order[i])] =
          std::max(factor_min, 1 + jitter.rank * normal_quantile(p));
    }
  }
  for (const auto& spec : stragglers) apply_stragglers(speed, spec, seed);

  const auto sigma = layer_sigmas(jitter, profile);
  const bool varies = !kinds.together || jitter.iteration > 0 ||
                      std::any_of(sigma.begin(), sigma.end(), [](double s) { return s > 0; });
  const auto member_of = [&](std::size_t rank) {
    MemberGroup member{.rank = static_cast<int>(rank), .speed = speed[rank]};
    if (!kinds.worker_class.empty()) member.worker_class = kinds.worker_class[rank];
    if (!kinds.rank_class.empty()) member.rank_class = kinds.rank_class[rank];
    if (!kinds.inputs.empty()) member.inputs = kinds.inputs[rank];
    return member;
  };
  const auto kind_of = [](const MemberGroup& member) {
    return std::tuple(member.worker_class, member.rank_class, member.inputs, member.speed);
  };
  std::vector<MemberGroup> members;
  std::vector<std::size_t> by_speed(count);
  std::iota(by_speed.begin(), by_speed.end(), std::size_t{0});
  if (!varies) {
    std::stable_sort(by_speed.begin(), by_speed.end(), [&](std::size_t a, std::size_t b) {
      return kind_of(member_of(a)) < kind_of(member_of(b));
    });
  }
  for (const std::size_t rank : by_speed) {
    const MemberGroup member = member_of(rank);
    if (!varies && !members.empty() && kind_of(members.back()) == kind_of(member)) {
      ++members.back().count;
    } else {
      members.push_back(member);
    }
  }
  std::sort(members.begin(), members.end(),
            [](const MemberGroup& a, const MemberGroup& b) { return a.rank < b.rank; });
  return members;
}

std::vector<int> inputs_of_ranks(int world_size, const std::vector<InputSpec>& uneven) {
  if (uneven.empty()) return {};
  std::vector<int> inputs(static_cast<std::size_t>(world_size), MemberGroup::endless);
  for (const InputSpec& spec : uneven) {
    for (const int rank : spec.ranks) inputs[static_cast<std::size_t>(rank)] = spec.iterations;
  }
  return inputs;
}

void spread_starts(std::vector<MemberGroup>& members, double period, std::uint64_t seed) {
  const auto order = shuffled_ranks(static_cast<int>(members.size()), seed, start_stream);
  const double part = period / static_cast<double>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double within = uniform(seed, start_stream, i, whole_iteration);
    members[static_cast<std::size_t>(order[i])].start = (static_cast<double>(i) + within) * part;
  }
}

MessageDraws::MessageDraws(double spread, std::uint64_t seed)
    : seed_(seed), sigma_(std::sqrt(std::log1p(spread * spread))) {}

double MessageDraws::stretch(int iteration, int exchange) const {
  if (sigma_ == 0) return 1;
  const double draw = standard_normal(seed_, message_stream, static_cast<std::uint64_t>(iteration),
                                      static_cast<std::uint64_t>(exchange));
  return std::exp(sigma_ * draw - sigma_ * sigma_ / 2);
}

IterationDraws::IterationDraws(const JitterSpec& jitter, const ComputeProfile& profile,
                               std::uint64_t seed)
    : seed_(seed),
      iteration_sigma_(jitter.iteration),
      sigma_(layer_sigmas(jitter, profile)),
      layers_vary_(std::any_of(sigma_.begin(), sigma_.end(), [](double s) { return s > 0; })) {}

void IterationDraws::draw(int iteration, const std::vector<MemberGroup>& members) {
  number_ = iteration;
  const auto key = static_cast<std::uint64_t>(iteration);
  if (iteration_sigma_ > 0) {
    iteration_.resize(members.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto rank = static_cast<std::uint64_t>(members[m].rank);
      iteration_[m] = std::max(
          factor_min, 1 + iteration_sigma_ * standard_normal(seed_, key, rank, whole_iteration));
    }
  }
  if (!layers_vary_) return;
  const NormalTable& normal = normal_table();
  std::vector<std::uint64_t> keys;
  keys.reserve(members.size());
  for (const MemberGroup& member : members) {
    keys.push_back(first_keys(seed_, key, static_cast<std::uint64_t>(member.rank)));
  }
  members_ = members.size();
  layer_.resize(members_ * sigma_.size());
  std::vector<double> draws(members_);
  std::vector<double> quantiles(members_);
  for (std::size_t l = 0; l < sigma_.size(); ++l) {
    uniforms(keys, l, draws);
    normal.quantiles(draws, quantiles);
    for (std::size_t m = 0; m < members_; ++m) {
      layer_[l * members_ + m] =
          static_cast<float>(std::max(factor_min, 1 + sigma_[l] * quantiles[m]));
    }
  }
}

}  // namespace gradwire
