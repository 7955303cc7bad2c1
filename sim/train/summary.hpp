#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/engine/network.hpp"
#include "sim/train/training.hpp"
#include "sim/train/workers.hpp"

namespace gradwire {

/// Collects what a run's iterations were made of, checks it, and makes the result.
class Summary {
 public:
  Summary(const Job& job, const std::vector<MemberGroup>& members);

  /// The member whose GPU computes longest, by its profile and static speed; the one that is
  /// traced.
  [[nodiscard]] std::size_t slowest_member() const;

  /// @param pattern  nullptr on a single rank.
  void collective_posted(int iteration, const Pattern* pattern, Bytes size);
  /// @param busy  seconds by which it lengthens the time in which some collective moves data.
  void collective_ended(double busy);
  void priced(const CollectiveCost& cost);
  /// Asserts the accounting identity and that no rank beats its own compute.
  void iteration_ended(int iteration, const std::vector<IterationSample>& samples);

  [[nodiscard]] RunResult result(const Network& network, Seconds end, double wall_s,
                                 std::vector<Span> spans) const;

 private:
  /// Seconds of an iteration's kernels on a GPU of the member's class at nominal speed.
  [[nodiscard]] double device_time(const MemberGroup& member) const;
  void add_spread(RunResult& result) const;
  void add_links(RunResult& result, const Network& network, Seconds end) const;

  const Job& job_;
  const std::vector<MemberGroup>& members_;
  RunResult result_;
  double worst_cost_ = 0;     ///< relative uncertainty of the least certain price
  double worst_profile_ = 0;  ///< the same of the worker classes' profiles
};

}  // namespace gradwire
