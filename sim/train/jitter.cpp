#include "sim/train/jitter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/core/parallel.hpp"
#include "sim/core/random.hpp"
#include "sim/train/lanes.hpp"

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

/// Members, and draws of their layers, from which on several threads draw: one takes some 30 ns, of
/// a layer 3, a thread some 10 us to be called.
constexpr std::size_t shared_members = 4096;
constexpr std::size_t shared_draws = 65'536;

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

/// Makes ranks whose machine has others slower by `share`.
void slow_neighbours(std::vector<double>& speed, const Placement& placement, double share) {
  if (share == 0) return;
  const int last = std::ranges::max_element(placement, {}, &GpuRef::node)->node;
  std::vector<int> ranks_of(static_cast<std::size_t>(last) + 1);
  for (const GpuRef& rank : placement) ++ranks_of[static_cast<std::size_t>(rank.node)];
  for (std::size_t i = 0; i < speed.size(); ++i) {
    if (ranks_of[static_cast<std::size_t>(placement[i].node)] > 1) speed[i] *= 1 + share;
  }
}

std::vector<double> layer_sigmas(const JitterSpec& jitter, const ComputeProfile& profile) {
  std::vector<double> sigma;
  for (const auto& layer : profile.layers) sigma.push_back(jitter.layer.value_or(layer.stdev));
  return sigma;
}

}  // namespace

std::vector<MemberGroup> make_members(const Placement& placement, const JitterSpec& jitter,
                                      const std::vector<StragglerSpec>& stragglers,
                                      const ComputeProfile& profile, std::uint64_t seed,
                                      const RankKinds& kinds) {
  const std::size_t count = placement.size();
  const int world_size = static_cast<int>(count);
  std::vector<double> speed(count, 1.0);
  if (jitter.rank > 0) {
    const auto order = shuffled_ranks(world_size, seed, static_stream);
    for (std::size_t i = 0; i < count; ++i) {
      const double p = (static_cast<double>(i) + 1 - 0.375) / (world_size + 0.25);  // Blom
      speed[static_cast<std::size_t>(order[i])] =
          std::max(factor_min, 1 + jitter.rank * normal_quantile(p));
    }
  }
  slow_neighbours(speed, placement, jitter.several_gpus);
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
  const auto before = [&](std::size_t a, std::size_t b) {
    return kind_of(member_of(a)) < kind_of(member_of(b));
  };
  // Where none differ, a look is enough.
  if (!varies && !std::is_sorted(by_speed.begin(), by_speed.end(), before)) {
    std::stable_sort(by_speed.begin(), by_speed.end(), before);
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

namespace {

bool alike(const MemberGroup& a, const MemberGroup& b) {
  return a.worker_class == b.worker_class && a.inputs == b.inputs;
}

/// Numbers from `first` on, nearly by their value, so that neighbours have nearly the same: in two
/// passes, as sorting would take longer than is won by it.
void sort_roughly(const std::vector<double>& value, std::size_t first,
                  std::span<std::uint32_t> numbers) {
  const auto values = std::span(value).subspan(first, numbers.size());
  const auto [least, most] = std::ranges::minmax(values);
  const std::size_t buckets = numbers.size() / 4 + 1;
  const double per_value = most > least ? static_cast<double>(buckets - 1) / (most - least) : 0;
  const auto bucket_of = [&, low = least](double v) {
    return static_cast<std::size_t>((v - low) * per_value);
  };
  std::vector<std::uint32_t> next(buckets + 1);  // place of the bucket's next one
  for (const double v : values) ++next[bucket_of(v) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t i = 0; i < values.size(); ++i) {
    numbers[next[bucket_of(values[i])]++] = static_cast<std::uint32_t>(first + i);
  }
}

}  // namespace

std::vector<std::size_t> block_starts(const std::vector<MemberGroup>& members) {
  std::vector<std::size_t> starts = {0};
  for (std::size_t m = 1; m < members.size(); ++m) {
    if (m - starts.back() == lanes_most || !alike(members[m - 1], members[m])) starts.push_back(m);
  }
  if (!members.empty()) starts.push_back(members.size());
  return starts;
}

IterationDraws::IterationDraws(const JitterSpec& jitter, const ComputeProfile& profile,
                               std::uint64_t seed)
    : seed_(seed),
      iteration_sigma_(jitter.iteration),
      sigma_(layer_sigmas(jitter, profile)),
      layers_vary_(std::any_of(sigma_.begin(), sigma_.end(), [](double s) { return s > 0; })) {}

double IterationDraws::layer_factor(std::size_t member, int layer) const {
  const auto at = std::ranges::find(order_, member);
  const std::size_t place = order_.empty() ? member : static_cast<std::size_t>(at - order_.begin());
  const auto behind = std::ranges::upper_bound(starts_, place);
  const auto block = static_cast<std::size_t>(behind - starts_.begin()) - 1;
  const auto factors = layer_factors(layer, block);
  return factors.empty() ? 1 : static_cast<double>(factors[place - starts_[block]]);
}

void IterationDraws::draw(int iteration, const std::vector<MemberGroup>& members) {
  number_ = iteration;
  starts_ = block_starts(members);
  const auto key = static_cast<std::uint64_t>(iteration);
  if (iteration_sigma_ > 0) {
    iteration_.resize(members.size());
    in_parts(members.size(), shared_members, [&](std::size_t begin, std::size_t end) {
      for (std::size_t m = begin; m < end; ++m) {
        const auto rank = static_cast<std::uint64_t>(members[m].rank);
        iteration_[m] = std::max(
            factor_min, 1 + iteration_sigma_ * standard_normal(seed_, key, rank, whole_iteration));
      }
    });
    if (members.size() > lanes_most) draw_order(members);
  }
  if (layers_vary_) draw_layers(members);
}

void IterationDraws::draw_order(const std::vector<MemberGroup>& members) {
  std::vector<double> pace(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) pace[m] = members[m].speed * iteration_[m];
  order_.resize(members.size());
  // From one that is of another kind than the one before it to the next such.
  std::size_t first = 0;
  for (const std::size_t start : starts_) {
    if (start < members.size() && alike(members[first], members[start])) continue;
    sort_roughly(pace, first, std::span(order_).subspan(first, start - first));
    first = start;
  }
}

void IterationDraws::draw_layers(const std::vector<MemberGroup>& members) {
  layer_.resize(members.size() * sigma_.size());
  const std::size_t blocks = shared_draws / (lanes_most * sigma_.size()) + 1;
  in_parts(starts_.size() - 1, blocks, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) draw_layers(members, block);
  });
}

void IterationDraws::draw_layers(const std::vector<MemberGroup>& members, std::size_t block) {
  std::array<std::uint64_t, lanes_most> keys;
  const std::size_t count = starts_[block + 1] - starts_[block];
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = starts_[block] + i;
    const std::size_t m = order_.empty() ? place : order_[place];
    keys[i] = first_keys(seed_, static_cast<std::uint64_t>(number_),
                         static_cast<std::uint64_t>(members[m].rank));
  }
  draw_block(block, std::span(keys).first(count));
}

void IterationDraws::draw_block(std::size_t block, std::span<const std::uint64_t> keys) {
  constexpr std::size_t at_once = 8;  // layers, so that what is drawn stays near the processor
  const NormalTable& normal = normal_table();
  const std::size_t count = keys.size();
  std::array<double, at_once * lanes_most> uniform_draws;
  std::array<double, at_once * lanes_most> normal_draws;
  const auto of_block =
      std::span(layer_).subspan(starts_[block] * sigma_.size(), count * sigma_.size());
  for (std::size_t first = 0; first < sigma_.size(); first += at_once) {
    const std::size_t layers = std::min(at_once, sigma_.size() - first);
    const auto uniforms_here = std::span(uniform_draws).first(layers * count);
    const auto normals_here = std::span(normal_draws).first(layers * count);
    for (std::size_t l = 0; l < layers; ++l) {
      uniforms(keys, first + l, uniforms_here.subspan(l * count, count));
    }
    normal.quantiles(uniforms_here, normals_here);
    for (std::size_t l = 0; l < layers; ++l) {
      factors_of(normals_here.subspan(l * count, count), sigma_[first + l], factor_min,
                 of_block.subspan((first + l) * count, count));
    }
  }
}

}  // namespace gradwire
