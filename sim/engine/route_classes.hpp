#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// A problem's columns by the rows that they pass, of those where flows of different classes meet
/// and that can be full: columns through the same rows are one route class. Of copies, all rows
/// count: each route class of theirs is a port.
struct RouteClasses {
  /// A row that copies and other flows pass (FlowProblem::copies) is two: what the others may have
  /// of it, and what they leave. It stands for rows in series that the same others pass, and no
  /// copies, as a NIC's messages pass its port and the bridge above it.
  struct Turns {
    std::uint32_t others = 0;
    std::uint32_t copies = 0;
    double capacity = 0;  ///< of both together
    double most = 0;      ///< what the others get at most, by rows in series
    double port = 1;      ///< weight of the others' one port
  };

  explicit RouteClasses(const FlowProblem& problem);

  std::vector<std::uint32_t> of;     ///< column -> its route class
  std::vector<std::uint32_t> begin;  ///< route class -> its first use, and behind all the end
  std::vector<RowUse> uses;
  std::vector<double>
      own;  ///< route class -> bytes per second that its own rows let through; no_cap: any
  std::vector<double>
      most;  ///< route class of copies -> what the narrowest of all its rows lets through
  std::vector<double> capacity;  ///< row -> bytes per second; those of copies behind the problem's
  std::vector<Turns> turns;

 private:
  /// Finds those rows. @return row -> index into `turns`, or no_turns.
  std::vector<std::uint32_t> pair_rows(const FlowProblem& problem,
                                       const std::vector<bool>& dropped);
  /// What a column passes of the rows here.
  [[nodiscard]] std::vector<RowUse> uses_of(const FlowProblem& problem, std::size_t column,
                                            const std::vector<bool>& dropped,
                                            const std::vector<std::uint32_t>& turns_of) const;
  /// Lets rows of `turns` stand for those in series with them. @return [row]: is it one of these?
  std::vector<bool> merge_series(const std::vector<const std::vector<RowUse>*>& routes,
                                 const std::vector<std::uint32_t>& used_by,
                                 const std::vector<std::uint32_t>& turns_of);
  /// Tells the routes' uses of rows that they have to themselves from the others.
  void split_uses(const std::vector<const std::vector<RowUse>*>& routes,
                  const std::vector<std::uint32_t>& used_by,
                  const std::vector<std::uint32_t>& turns_of, const std::vector<bool>& merged);
  static constexpr std::uint32_t no_turns = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace gradwire
