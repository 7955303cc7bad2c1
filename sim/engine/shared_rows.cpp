#include "sim/engine/shared_rows.hpp"

#include <algorithm>
#include <bit>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace gradwire {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// The rows of a problem before they are turned into columns, without room to spare: they have
/// millions of entries.
struct Rows {
  /// (flow class, weight), in a row sorted and each class once.
  using Entry = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<std::uint32_t> begin = {0};  ///< row r is entries[begin[r], begin[r+1])
  std::vector<Entry> entries;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size() - 1); }
  [[nodiscard]] std::span<const Entry> operator[](std::size_t row) const {
    return std::span(entries).subspan(begin[row], begin[row + 1] - begin[row]);
  }
  [[nodiscard]] std::span<Entry> operator[](std::size_t row) {
    return std::span(entries).subspan(begin[row], begin[row + 1] - begin[row]);
  }
};

/// Sorts each row, and adds up what it has of each class.
void add_up(Rows& rows) {
  std::uint32_t end = 0;
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    const std::span<Rows::Entry> row = rows[r];
    std::ranges::sort(row);
    rows.begin[r] = end;
    for (const Rows::Entry& entry : row) {
      if (end > rows.begin[r] && rows.entries[end - 1].first == entry.first) {
        rows.entries[end - 1].second += entry.second;
      } else {
        rows.entries[end++] = entry;
      }
    }
  }
  rows.begin.back() = end;
  rows.entries.resize(end);
}

/// @param visit  calls what it is given with (row, flow class, weight) for each entry; what it has
/// of a class in one row is added up. It is called twice, to count them first.
template <class Visit>
Rows gather(std::size_t count, Visit visit) {
  Rows rows;
  std::vector<std::uint32_t> last(count, none);  // class; mostly those of one stand side by side
  rows.begin.assign(count + 1, 0);
  visit([&](std::uint32_t row, std::uint32_t flow_class, std::uint32_t /*weight*/) {
    if (std::exchange(last[row], flow_class) != flow_class) ++rows.begin[row + 1];
  });
  std::partial_sum(rows.begin.begin(), rows.begin.end(), rows.begin.begin());
  rows.entries.resize(rows.begin.back());
  std::vector<std::uint32_t> next(rows.begin.begin(), rows.begin.end() - 1);
  last.assign(count, none);
  visit([&](std::uint32_t row, std::uint32_t flow_class, std::uint32_t weight) {
    if (std::exchange(last[row], flow_class) != flow_class) {
      rows.entries[next[row]++] = {flow_class, 0};
    }
    rows.entries[next[row] - 1].second += weight;
  });
  add_up(rows);
  return rows;
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
Rows link_rows(const FlowGraph& graph, const Partition& partition,
               std::vector<std::uint32_t>& representative) {
  representative.assign(partition.link_classes, none);
  for (std::uint32_t link = 0; link < partition.link_class.size(); ++link) {
    std::uint32_t& chosen = representative[partition.link_class[link]];
    if (chosen == none) chosen = link;
  }
  const auto is_told = [&](std::uint32_t link) {
    return representative[partition.link_class[link]] == link &&
           !std::isinf(graph.capacities[graph.capacity[link]]);
  };
  const std::vector<std::vector<std::uint32_t>> told_of_leg = of_legs(graph, is_told);
  return gather(partition.link_classes, [&](auto give) {
    for (std::size_t flow = 0; flow < graph.flow_count(); ++flow) {
      const auto tell = [&](std::uint32_t link) {
        give(partition.link_class[link], partition.flow_class[flow], 1);
      };
      graph.visit_path(
          flow,
          [&](std::uint32_t link) {
            if (is_told(link)) tell(link);
          },
          [&](std::uint32_t leg) { std::ranges::for_each(told_of_leg[leg], tell); });
    }
  });
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
bool may_have_turns(std::span<const Rows::Entry> row, const std::vector<ColumnHops>& hops) {
  ColumnHops all;
  for (const auto& [column, weight] : row) all |= hops[column];
  return all.pcie && all.network;
}

/// Numbers different rows in the order in which they come: an open hash table that reads them where
/// they stand.
class RowIndex {
 public:
  /// `rows` must outlive it.
  explicit RowIndex(const Rows& rows)
      : rows_(rows), seats_(std::bit_ceil(2 * std::size_t{rows.size()} + 1), none) {}

  /// @param parts  rows of others differ.
  std::uint32_t of(std::uint32_t row, std::uint32_t parts) {
    const auto entries = rows_[row];
    std::size_t hash = boost::hash_range(entries.begin(), entries.end());
    boost::hash_combine(hash, parts);
    std::size_t seat = hash & (seats_.size() - 1);
    for (; seats_[seat] != none; seat = (seat + 1) & (seats_.size() - 1)) {
      const auto& [first, first_parts] = first_[seats_[seat]];
      if (first_parts == parts && std::ranges::equal(rows_[first], entries)) return seats_[seat];
    }
    seats_[seat] = static_cast<std::uint32_t>(first_.size());
    first_.emplace_back(row, parts);
    return seats_[seat];
  }

 private:
  const Rows& rows_;
  std::vector<std::uint32_t> seats_;                            ///< numbers
  std::vector<std::pair<std::uint32_t, std::uint32_t>> first_;  ///< (row, parts), by number
};

/// Turns rows into columns, which have no room to spare: hundreds of thousands have some uses each.
/// @param kept  those that have a number, in their order.
std::vector<std::vector<RowUse>> columns_of(const Rows& rows,
                                            const std::vector<std::uint32_t>& kept,
                                            std::size_t columns) {
  std::vector<std::uint32_t> uses(columns, 0);
  for (const std::uint32_t row : kept) {
    for (const auto& [column, weight] : rows[row]) ++uses[column];
  }
  std::vector<std::vector<RowUse>> made(columns);
  for (std::size_t column = 0; column < columns; ++column) made[column].reserve(uses[column]);
  for (std::uint32_t number = 0; number < kept.size(); ++number) {
    for (const auto& [column, weight] : rows[kept[number]])
      made[column].push_back({number, weight});
  }
  return made;
}

/// Rows that weigh the same columns in the same proportion become one, with the least capacity:
/// up and down link of a ring, or a wide link behind a narrow one. Not those on which flows may
/// take turns, unless they are as large parts of their links: a NIC has one port on each.
/// @param parts  as FlowProblem has them of the rows before.
FlowProblem merge_rows(Rows rows, const std::vector<double>& capacities,
                       const std::vector<std::uint32_t>& parts,
                       const std::vector<ColumnHops>& hops) {
  FlowProblem problem;
  std::vector<std::uint32_t> kept;
  RowIndex known(rows);
  for (std::uint32_t id = 0; id < rows.size(); ++id) {
    const std::span<Rows::Entry> row = rows[id];
    if (row.empty()) continue;  // of links that hold nothing up
    std::uint32_t divisor = 0;
    for (const auto& [column, weight] : row) divisor = std::gcd(divisor, weight);
    for (auto& [column, weight] : row) weight /= divisor;
    const double capacity = capacities[id] / divisor;
    const bool turns = may_have_turns(row, hops);
    const std::uint32_t of = turns ? divisor * (parts.empty() ? 1 : parts[id]) : 1;
    const std::uint32_t number = known.of(id, of);
    if (number == kept.size()) {
      kept.push_back(id);
      problem.capacity.push_back(capacity);
      problem.parts.push_back(of);
    } else {
      double& least = problem.capacity[number];
      least = std::min(least, capacity);
    }
  }
  problem.columns = columns_of(rows, kept, hops.size());
  return problem;
}

}  // namespace

FlowProblem make_problem(const FlowGraph& graph, const Partition& partition) {
  std::vector<std::uint32_t> representative;
  Rows rows = link_rows(graph, partition, representative);
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
  Rows rows = gather(problem.capacity.size(), [&](auto give) {
    for (std::size_t column = 0; column < renamed.size(); ++column) {
      for (const RowUse& use : problem.columns[column]) give(use.row, renamed[column], use.weight);
    }
  });
  std::vector<ColumnHops> joined(columns);
  for (std::size_t column = 0; column < renamed.size(); ++column) {
    joined[renamed[column]] |= hops_of(hops[column]);
  }
  return merge_rows(std::move(rows), problem.capacity, problem.parts, joined);
}

}  // namespace gradwire
