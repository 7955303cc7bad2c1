#include "tests/cost/closed_form.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <vector>

#include "sim/collectives/planners.hpp"

namespace gradwire::test {
namespace {

/// What the formulas are made of.
struct Numbers {
  double n = 1;
  double down = 0;    ///< floor(log2 n)
  double up = 0;      ///< ceil(log2 n)
  double folds = 0;   ///< 1 when n is no power of two
  double others = 0;  ///< (n-1)/n
  double halved = 0;  ///< (p-1)/p, p the largest power of two <= n
};

Numbers numbers_of(int ranks) {
  const auto n = static_cast<unsigned>(ranks);
  Numbers numbers;
  numbers.n = ranks;
  numbers.down = static_cast<double>(std::bit_width(n)) - 1;
  numbers.folds = std::has_single_bit(n) ? 0 : 1;
  numbers.up = numbers.down + numbers.folds;
  numbers.others = (numbers.n - 1) / numbers.n;
  numbers.halved = 1 - 1.0 / std::bit_floor(n);
  return numbers;
}

using Formula = ClosedForm (*)(const Numbers&);

struct Entry {
  std::string_view algorithm;
  CollectiveKind kind;
  Formula formula;
  bool only_powers = false;  ///< of two ranks
};

ClosedForm ring_once(const Numbers& at) {
  return {at.n - 1, at.others};
}
ClosedForm chain(const Numbers& at) {
  const double rounds = at.n - 2 + chain_pieces;
  return {rounds, rounds / chain_pieces};
}
ClosedForm exchange_once(const Numbers& at) {
  return {at.down, at.others};
}
ClosedForm tree(const Numbers& at) {
  return {at.up, at.up};
}
ClosedForm tree_of_parts(const Numbers& at) {
  return {at.up, at.others};
}
ClosedForm at_once(const Numbers& at) {
  return {1, at.others};
}
ClosedForm one_message(const Numbers& /*at*/) {
  return {1, 1};
}

constexpr auto entries = std::to_array<Entry>({
    {"ring", CollectiveKind::all_reduce,
     [](const Numbers& at) {
       return ClosedForm{2 * (at.n - 1), 2 * at.others};
     }},
    {"ring", CollectiveKind::reduce_scatter, ring_once},
    {"ring", CollectiveKind::all_gather, ring_once},
    {"ring", CollectiveKind::broadcast, chain},
    {"ring", CollectiveKind::reduce, chain},
    {"ring", CollectiveKind::send_recv, one_message},
    {"halving_doubling", CollectiveKind::all_reduce,
     [](const Numbers& at) {
       return ClosedForm{2 * at.down, 2 * at.others};
     },
     true},
    {"halving_doubling", CollectiveKind::reduce_scatter, exchange_once, true},
    {"halving_doubling", CollectiveKind::all_gather, exchange_once, true},
    {"recursive_doubling", CollectiveKind::all_reduce,
     [](const Numbers& at) {
       return ClosedForm{at.down + 2 * at.folds, at.down + 2 * at.folds};
     }},
    {"recursive_doubling", CollectiveKind::all_gather, exchange_once, true},
    {"rabenseifner", CollectiveKind::all_reduce,
     [](const Numbers& at) {
       return ClosedForm{2 * at.down + 2 * at.folds, 2 * at.halved + 2 * at.folds};
     }},
    {"rabenseifner", CollectiveKind::reduce,
     [](const Numbers& at) {
       return ClosedForm{2 * at.down + at.folds, 2 * at.halved + at.folds};
     }},
    {"binomial_tree", CollectiveKind::broadcast, tree},
    {"binomial_tree", CollectiveKind::reduce, tree},
    {"binomial_tree", CollectiveKind::gather, tree_of_parts},
    {"binomial_tree", CollectiveKind::scatter, tree_of_parts},
    {"pat", CollectiveKind::all_gather, tree_of_parts},
    {"pat", CollectiveKind::reduce_scatter, tree_of_parts},
    {"pairwise", CollectiveKind::all_to_all, ring_once},
    {"direct", CollectiveKind::all_to_all, at_once},
    {"direct", CollectiveKind::gather, at_once},
    {"direct", CollectiveKind::scatter, at_once},
});

std::optional<ClosedForm> torus(int ranks) {
  if (ranks == 1) return ClosedForm{};
  const std::vector<int> dimensions = torus_dimensions(ranks);
  if (dimensions.empty()) return std::nullopt;
  double steps = 0;
  for (const int size : dimensions) steps += 2 * (size - 1);
  return ClosedForm{steps, 2 * (ranks - 1.0) / ranks};
}

}  // namespace

Seconds ring_all_reduce_time(int ranks, Bytes size, Seconds alpha, BytesPerSecond rate) {
  assert(ranks >= 1 && rate.count() > 0);
  const Seconds step = alpha + (1.0 / ranks) * (size / rate);
  return 2.0 * (ranks - 1) * step;
}

Seconds chain_broadcast_time(int ranks, int pieces, Bytes size, Seconds alpha,
                             BytesPerSecond rate) {
  assert(ranks >= 1 && pieces >= 1 && rate.count() > 0);
  if (ranks == 1) return Seconds{};
  const Seconds round = alpha + (1.0 / pieces) * (size / rate);
  return static_cast<double>(ranks - 1 + pieces - 1) * round;
}

std::optional<ClosedForm> closed_form(std::string_view algorithm, CollectiveKind kind, int ranks) {
  assert(ranks >= 1);
  if (algorithm == "torus" && kind == CollectiveKind::all_reduce) return torus(ranks);
  if (algorithm == "direct" && kind == CollectiveKind::send_recv) algorithm = "ring";
  const auto* const entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& one) {
    return one.algorithm == algorithm && one.kind == kind;
  });
  if (entry == entries.end()) return std::nullopt;
  if (ranks == 1) return ClosedForm{};
  const Numbers numbers = numbers_of(ranks);
  if (entry->only_powers && numbers.folds > 0) return std::nullopt;
  return entry->formula(numbers);
}

Seconds hierarchical_all_reduce_time(int ranks_per_machine, int machines, Bytes size,
                                     const Hops& inside, const Hops& across) {
  return ring_all_reduce_time(ranks_per_machine, size, inside.alpha, inside.rate) +
         ring_all_reduce_time(machines, size, across.alpha, across.rate);
}

}  // namespace gradwire::test
