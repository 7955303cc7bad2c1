#include "sim/cost/mpi_decisions.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace gradwire {
namespace {

constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();
constexpr int any_ranks = std::numeric_limits<int>::max();

constexpr std::string_view mpi_ring = "ring";
constexpr std::string_view mpi_segmented = "segmented_ring";
constexpr std::string_view doubling = "recursive_doubling";
constexpr std::string_view halving = "halving_doubling";
constexpr std::string_view rabenseifner = "rabenseifner";
constexpr std::string_view mpi_tree = "binomial_tree";
constexpr std::string_view mpi_direct = "direct";
constexpr std::string_view pairwise = "pairwise";

struct Band {
  std::int64_t bytes_below = any_size;
  std::string_view algorithm;
};

using Bands = std::vector<Band>;

/// The bands of sizes that hold below so many ranks.
struct RuleRow {
  int ranks_below = any_ranks;
  Bands bands;
};
using Table = std::vector<RuleRow>;

const Table& all_reduce_4_1() {
  static const Table table = {
      {4,
       {{8, mpi_ring},
        {4096, doubling},
        {8192, mpi_ring},
        {16384, doubling},
        {65536, mpi_ring},
        {262144, mpi_segmented},
        {any_size, rabenseifner}}},
      {8, {{16, mpi_ring}, {8192, doubling}, {any_size, rabenseifner}}},
      {16, {{8192, doubling}, {any_size, rabenseifner}}},
      {32, {{64, mpi_segmented}, {4096, doubling}, {any_size, rabenseifner}}},
      {64, {{128, mpi_segmented}, {any_size, rabenseifner}}},
      {256, {{262144, doubling}, {any_size, rabenseifner}}},
      {512, {{4096, doubling}, {any_size, rabenseifner}}},
      {2048, {{16384, doubling}, {any_size, rabenseifner}}},
      {4096,
       {{2048, doubling}, {4096, mpi_segmented}, {16384, doubling}, {any_size, rabenseifner}}},
      {any_ranks,
       {{2048, doubling}, {16384, mpi_segmented}, {32768, doubling}, {any_size, rabenseifner}}},
  };
  return table;
}

/// By the bytes that each rank gives.
const Table& all_gather() {
  static const Table table = {
      {32, {{any_size, doubling}}},
      {64, {{1024, doubling}, {any_size, mpi_ring}}},
      {256, {{512, doubling}, {any_size, mpi_ring}}},
      {512, {{1024, doubling}, {any_size, mpi_ring}}},
      {1024, {{2048, doubling}, {any_size, mpi_ring}}},
      {any_ranks, {{4096, doubling}, {any_size, mpi_ring}}},
  };
  return table;
}

const Table& reduce_scatter() {
  static const Table table = {
      {4, {{65536, mpi_ring}, {131072, halving}, {any_size, mpi_ring}}},
      {32, {{262144, halving}, {any_size, mpi_ring}}},
      {64, {{524288, halving}, {any_size, mpi_ring}}},
      {any_ranks, {{any_size, halving}}},
  };
  return table;
}

/// By the bytes for one rank, as those of gather and scatter.
const Table& all_to_all() {
  static const Table table = {
      {3, {{any_size, pairwise}}},
      {8, {{524288, mpi_direct}, {1048576, pairwise}, {any_size, mpi_direct}}},
      {64, {{any_size, mpi_direct}}},
      {256, {{262144, mpi_direct}, {any_size, pairwise}}},
      {512, {{32768, mpi_direct}, {any_size, pairwise}}},
      {1024, {{262144, mpi_direct}, {any_size, pairwise}}},
      {any_ranks, {{any_size, mpi_direct}}},
  };
  return table;
}

const Table& gather() {
  static const Table table = {
      {4, {{32768, mpi_tree}, {65536, mpi_direct}, {131072, mpi_tree}, {any_size, mpi_direct}}},
      {8, {{1024, mpi_tree}, {8192, mpi_direct}, {32768, mpi_tree}, {any_size, mpi_direct}}},
      {256, {{any_size, mpi_tree}}},
      {512, {{2048, mpi_tree}, {8192, mpi_direct}, {any_size, mpi_tree}}},
      {any_ranks, {{any_size, mpi_tree}}},
  };
  return table;
}

const Table& scatter() {
  static const Table table = {
      {4, {{any_size, mpi_direct}}},
      {8, {{2048, mpi_tree}, {4096, mpi_direct}, {8192, mpi_tree}, {any_size, mpi_direct}}},
      {32, {{16384, mpi_tree}, {any_size, mpi_direct}}},
      {64, {{512, mpi_tree}, {8192, mpi_direct}, {16384, mpi_tree}, {any_size, mpi_direct}}},
      {any_ranks, {{512, mpi_tree}, {any_size, mpi_direct}}},
  };
  return table;
}

/// Up to 3.x and 4.0: the ring is cut where a rank's part is longer than a segment.
Bands all_reduce_before_4_1(int ranks) {
  constexpr std::int64_t small = 10'000;
  constexpr std::int64_t segment = 1 << 20;
  return {{small, doubling}, {ranks * segment + 1, mpi_ring}, {any_size, mpi_segmented}};
}

/// By the whole. Neighbour exchange, where ranks are even, has the ring's bytes in half its steps.
Bands all_gather_before_4_1(int ranks) {
  constexpr std::int64_t small = 50'000;
  return {{(small + ranks - 1) / ranks, doubling}, {any_size, mpi_ring}};
}

const Bands& row_of(const Table& table, int ranks) {
  return std::ranges::find_if(table, [&](const RuleRow& row) { return ranks < row.ranks_below; })
      ->bands;
}

Bands bands_of(MpiDecisions decisions, CollectiveKind kind, int ranks) {
  const bool since_4_1 = decisions == MpiDecisions::since_4_1;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return since_4_1 ? row_of(all_reduce_4_1(), ranks) : all_reduce_before_4_1(ranks);
    case CollectiveKind::reduce_scatter:
      return row_of(reduce_scatter(), ranks);
    case CollectiveKind::all_gather:
      return since_4_1 ? row_of(all_gather(), ranks) : all_gather_before_4_1(ranks);
    case CollectiveKind::all_to_all:
      return row_of(all_to_all(), ranks);
    case CollectiveKind::gather:
      return row_of(gather(), ranks);
    case CollectiveKind::scatter:
      return row_of(scatter(), ranks);
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      break;
  }
  return {{any_size, mpi_tree}};
}

/// What the decision counts: one rank's part where the collective is of parts, else the whole.
std::int64_t counted(CollectiveKind kind, int ranks, Bytes size) {
  const bool of_parts = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all ||
                        kind == CollectiveKind::gather || kind == CollectiveKind::scatter;
  return of_parts ? size.count() / ranks : size.count();
}

}  // namespace

std::string_view mpi_algorithm(MpiDecisions decisions, CollectiveKind kind, int ranks, Bytes size) {
  assert(ranks >= 2 && kind != CollectiveKind::send_recv);
  const Bands bands = bands_of(decisions, kind, ranks);
  const std::int64_t bytes = counted(kind, ranks, size);
  return std::ranges::find_if(bands, [&](const Band& band) { return bytes < band.bytes_below; })
      ->algorithm;
}

std::vector<std::string_view> mpi_algorithms(MpiDecisions decisions, CollectiveKind kind,
                                             int ranks) {
  assert(ranks >= 2 && kind != CollectiveKind::send_recv);
  std::vector<std::string_view> names;
  for (const Band& band : bands_of(decisions, kind, ranks)) {
    if (std::ranges::find(names, band.algorithm) == names.end()) names.push_back(band.algorithm);
  }
  return names;
}

}  // namespace gradwire
