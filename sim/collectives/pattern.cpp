#include "sim/collectives/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace gradwire {
namespace {

/// FNV-1a over words of 64 bits (Fowler, Noll, Vo; offset basis and prime of the 64-bit variant),
/// with the upper half folded in, which a product alone never carries down.
void mix(std::uint64_t& hash, std::uint64_t word) {
  constexpr std::uint64_t prime = 0x100000001b3;
  hash = (hash ^ word) * prime;
  hash ^= hash >> 32;
}

struct KindEntry {
  CollectiveKind kind;
  std::string_view name;
};

constexpr std::array<KindEntry, 9> kind_entries = {{
    {CollectiveKind::all_reduce, "all_reduce"},
    {CollectiveKind::reduce_scatter, "reduce_scatter"},
    {CollectiveKind::all_gather, "all_gather"},
    {CollectiveKind::broadcast, "broadcast"},
    {CollectiveKind::reduce, "reduce"},
    {CollectiveKind::all_to_all, "all_to_all"},
    {CollectiveKind::gather, "gather"},
    {CollectiveKind::scatter, "scatter"},
    {CollectiveKind::send_recv, "send_recv"},
}};

}  // namespace

std::span<const CollectiveKind> collective_kinds() {
  static const auto kinds = [] {
    std::array<CollectiveKind, kind_entries.size()> all{};
    std::transform(kind_entries.begin(), kind_entries.end(), all.begin(),
                   [](const KindEntry& entry) { return entry.kind; });
    return all;
  }();
  return kinds;
}

std::string_view name_of(CollectiveKind kind) {
  return kind_entries.at(static_cast<std::size_t>(kind)).name;
}

std::optional<CollectiveKind> collective_kind(std::string_view name) {
  for (const KindEntry& entry : kind_entries) {
    if (entry.name == name) return entry.kind;
  }
  return std::nullopt;
}

bool reduces_values(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::reduce;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * others;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return others;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return 1;
  }
  return 1;
}

std::size_t Phase::flow_count() const {
  if (runs.empty()) return flows.size();
  std::size_t count = 0;
  for (const FlowRun& run : runs) count += run.size;
  return count;
}

void Pattern::seal() {
  constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
  std::uint64_t hash = offset_basis;
  const auto mix_int = [&](auto value) { mix(hash, static_cast<std::uint64_t>(value)); };
  const auto mix_pair = [&](auto high, auto low) {  // numbers of 32 bits
    mix(hash, static_cast<std::uint64_t>(high) << 32U | static_cast<std::uint32_t>(low));
  };
  mix_int(kind);
  for (const char letter : algorithm) mix_int(letter);
  mix_int(ranks);
  mix_int(machines);
  mix_int(channels);
  mix_int(connections);
  for (const Phase& phase : phases) {
    mix_int(phase.steps);
    mix_int(phase.coupling);
    for (const PatternFlow& flow : phase.flows) {
      mix_pair(flow.source, flow.destination);
      mix(hash, std::bit_cast<std::uint64_t>(flow.share));
      mix_pair(flow.group, flow.path_size);
      mix_int(flow.path_begin);
    }
    for (const FlowRun& run : phase.runs) {
      mix_pair(run.begin, run.size);
      mix_int(run.machine);
    }
  }
  if (is_folded()) {
    mix_pair(fold.machines, fold.ranks);
    mix_pair(fold.links, fold.first_link);
  }
  for (std::size_t i = 0; i + 1 < path_links.size(); i += 2) {
    mix_pair(path_links[i], path_links[i + 1]);
  }
  if (path_links.size() % 2 == 1) mix_int(path_links.back());
  key = std::max<std::uint64_t>(hash, 1);  // 0 says "not computed"
}

std::vector<std::vector<int>> ring_orders(const Pattern& pattern) {
  std::vector<std::vector<int>> orders(static_cast<std::size_t>(pattern.channels));
  if (pattern.phases.empty()) return orders;
  const Phase& phase = pattern.phases.front();
  for (const PatternFlow& flow : phase.flows) {
    orders[static_cast<std::size_t>(flow.group)].push_back(flow.source);
  }
  return orders;
}

}  // namespace gradwire
