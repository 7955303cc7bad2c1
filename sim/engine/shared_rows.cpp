#include "sim/engine/shared_rows.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace gradwire {
namespace {

constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

/// A row of the problem before it is turned into columns: (flow class, weight), sorted.
using Row = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Sorts a row, and adds up what it has of each class.
void add_up(Row& row) {
  std::ranges::sort(row);
  std::size_t last = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].first == row[last].first) {
      row[last].second += row[i].second;
    } else {
      row[++last] = row[i];
    }
  }
  if (!row.empty()) row.resize(last + 1);
}

/// Of each leg the links for which `is_told` holds.
template <class IsTold>
std::vector<std::vector<std::uint32_t>> of_legs(const FlowGraph& graph, IsTold is_told) {
  std::vector<std::vector<std::uint32_t>> told(graph.leg_begin.size() - 1);
  for (std::size_t leg = 0; leg < told.size(); ++leg) {
    std::ranges::copy_if(graph.links_of_leg(leg), std::back_inserter(told[leg]), is_told);
  }
  return told;
}

/// What one link of each class carries: flows of each flow class, with their multiplicity.
std::vector<Row> link_rows(const FlowGraph& graph, const Partition& partition,
                           std::vector<std::uint32_t>& representative) {
  representative.assign(partition.link_classes, no_link);
  for (std::uint32_t link = 0; link < partition.link_class.size(); ++link) {
    std::uint32_t& chosen = representative[partition.link_class[link]];
    if (chosen == no_link) chosen = link;
  }
  const auto is_told = [&](std::uint32_t link) {
    return representative[partition.link_class[link]] == link &&
           !std::isinf(graph.capacities[graph.capacity[link]]);
  };
  const std::vector<std::vector<std::uint32_t>> told_of_leg = of_legs(graph, is_told);
  std::vector<Row> rows(partition.link_classes);
  for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
    const std::uint32_t flow_class = partition.flow_class[flow];
    const auto tell = [&](std::uint32_t link) {
      Row& row = rows[partition.link_class[link]];
      // Mostly those of a class stand side by side.
      if (row.empty() || row.back().first != flow_class) row.emplace_back(flow_class, 0);
      ++row.back().second;
    };
    graph.visit_path(
        flow,
        [&](std::uint32_t link) {
          if (is_told(link)) tell(link);
        },
        [&](std::uint32_t leg) { std::ranges::for_each(told_of_leg[leg], tell); });
  }
  for (Row& row : rows) add_up(row);
  return rows;
}

/// Which kinds of hops the flows of a column have.
struct ColumnHops {
  bool pcie = false;
  bool network = false;

  ColumnHops& operator|=(const ColumnHops& other) {
    pcie |= other.pcie;
    network |= other.network;
    return *this;
  }
};

ColumnHops hops_of(Hop hop) {
  return {.pcie = hop == Hop::pcie, .network = hop == Hop::network};
}

/// Copies and messages may take turns on it.
bool may_have_turns(const Row& row, const std::vector<ColumnHops>& hops) {
  ColumnHops all;
  for (const auto& [column, weight] : row) all |= hops[column];
  return all.pcie && all.network;
}

/// Rows that weigh the same columns in the same proportion become one, with the least capacity:
/// up and down link of a ring, or a wide link behind a narrow one. Not those on which flows may
/// take turns, unless they are as large parts of their links: a NIC has one port on each.
/// @param parts  as FlowProblem has them of the rows before.
FlowProblem merge_rows(std::vector<Row> rows, const std::vector<double>& capacities,
                       const std::vector<std::uint32_t>& parts,
                       const std::vector<ColumnHops>& hops) {
  FlowProblem problem;
  problem.columns.resize(hops.size());
  using Key = std::pair<Row, std::uint32_t>;
  std::unordered_map<Key, std::uint32_t, boost::hash<Key>> known;  // looked up, never walked
  for (std::size_t id = 0; id < rows.size(); ++id) {
    std::uint32_t divisor = 0;
    if (rows[id].empty()) continue;  // of links that hold nothing up
    for (const auto& [column, weight] : rows[id]) divisor = std::gcd(divisor, weight);
    for (auto& [column, weight] : rows[id]) weight /= divisor;
    const double capacity = capacities[id] / divisor;
    const bool turns = may_have_turns(rows[id], hops);
    const std::uint32_t of = turns ? divisor * (parts.empty() ? 1 : parts[id]) : 1;
    const auto next = static_cast<std::uint32_t>(problem.capacity.size());
    const auto [found, is_new] = known.try_emplace({std::move(rows[id]), of}, next);
    if (is_new) {
      problem.capacity.push_back(capacity);
      problem.parts.push_back(of);
      for (const auto& [column, weight] : found->first.first) {
        problem.columns[column].push_back({next, weight});
      }
    } else {
      double& least = problem.capacity[found->second];
      least = std::min(least, capacity);
    }
  }
  return problem;
}

}  // namespace

FlowProblem make_problem(const FlowGraph& graph, const Partition& partition) {
  std::vector<std::uint32_t> representative;
  std::vector<Row> rows = link_rows(graph, partition, representative);
  std::vector<double> capacities;
  capacities.reserve(representative.size());
  for (const std::uint32_t link : representative) {
    capacities.push_back(graph.capacities[graph.capacity[link]]);
  }
  std::vector<ColumnHops> hops(partition.flow_classes);
  for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
    hops[partition.flow_class[flow]] = hops_of(graph.kinds[graph.kind[flow]].hop);
  }
  return merge_rows(std::move(rows), capacities, {}, hops);
}

FlowProblem join_columns(const FlowProblem& problem, const std::vector<std::uint32_t>& renamed,
                         std::size_t columns, const std::vector<Hop>& hops) {
  std::vector<Row> rows(problem.capacity.size());
  for (std::size_t column = 0; column < renamed.size(); ++column) {
    for (const RowUse& use : problem.columns[column]) {
      rows[use.row].emplace_back(renamed[column], use.weight);
    }
  }
  for (Row& row : rows) add_up(row);
  std::vector<ColumnHops> joined(columns);
  for (std::size_t column = 0; column < renamed.size(); ++column) {
    joined[renamed[column]] |= hops_of(hops[column]);
  }
  return merge_rows(std::move(rows), problem.capacity, problem.parts, joined);
}

}  // namespace gradwire
