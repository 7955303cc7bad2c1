#include "sim/collectives/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace gradwire {
namespace {

/// FNV-1a over words of 64 bits (Fowler, Noll, Vo; offset basis and prime of the 64-bit variant),
/// with the upper half folded in, which a product alone never carries down.
void mix(std::uint64_t& hash, std::uint64_t word) {
  constexpr std::uint64_t prime = 0x100000001b3;
  hash = (hash ^ word) * prime;
  hash ^= hash >> 32;
}

}  // namespace

void Pattern::seal() {
  constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
  std::uint64_t hash = offset_basis;
  const auto mix_int = [&](auto value) { mix(hash, static_cast<std::uint64_t>(value)); };
  mix_int(kind);
  for (const char letter : algorithm) mix_int(letter);
  mix_int(ranks);
  mix_int(machines);
  mix_int(channels);
  for (const Phase& phase : phases) {
    mix_int(phase.steps);
    mix_int(phase.coupling);
    for (const PatternFlow& flow : phase.flows) {
      mix_int(flow.source);
      mix_int(flow.destination);
      mix(hash, std::bit_cast<std::uint64_t>(flow.share));
      mix_int(flow.group);
      mix_int(flow.path_begin);
      mix_int(flow.path_size);
    }
  }
  for (const LinkId link : path_links) mix_int(link);
  key = std::max<std::uint64_t>(hash, 1);  // 0 says "not computed"
}

double Pattern::share_per_rank() const {
  std::vector<double> sent(static_cast<std::size_t>(ranks));
  for (const Phase& phase : phases) {
    for (const PatternFlow& flow : phase.flows) {
      sent[static_cast<std::size_t>(flow.source)] += flow.share;
    }
  }
  return sent.empty() ? 0 : *std::max_element(sent.begin(), sent.end());
}

std::vector<std::vector<int>> ring_orders(const Pattern& pattern) {
  std::vector<std::vector<int>> orders(static_cast<std::size_t>(pattern.channels));
  if (pattern.phases.empty()) return orders;
  const Phase& phase = pattern.phases.front();
  for (const PatternFlow& flow : phase.flows) {
    orders[static_cast<std::size_t>(flow.group)].push_back(flow.source);
  }
  if (phase.coupling != Coupling::chain) return orders;
  for (const PatternFlow& flow : phase.flows) {  // nobody starts from a chain's last rank
    auto& order = orders[static_cast<std::size_t>(flow.group)];
    if (std::ssize(order) < pattern.ranks && flow.source == order.back()) {
      order.push_back(flow.destination);
    }
  }
  return orders;
}

}  // namespace gradwire
