#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// These tensors together.
[[nodiscard]] PlanGroup group_of(const JobView& job, std::vector<TensorId> tensors,
                                 std::string note = {});

/// All tensors in the order of registration.
[[nodiscard]] std::vector<TensorId> registration_order(const JobView& job);

/// The gradients of one exchange each, in launch order.
using TensorGroups = std::vector<std::vector<TensorId>>;

/// All gradients in one group, in gradient order.
[[nodiscard]] TensorGroups one_group(const JobView& job);
/// A group for each gradient, in gradient order.
[[nodiscard]] TensorGroups a_group_each(const JobView& job);

/// As a plan.
[[nodiscard]] std::vector<PlanGroup> plan_of(const JobView& job, const TensorGroups& groups);

/// What a sparse gradient is exchanged by: its rows and their indices.
[[nodiscard]] PlanGroup group_of_rows(const JobView& job, TensorId tensor);

/// The all-gathers of a sparse gradient, of the ranks' indices and of their rows, in this order.
[[nodiscard]] std::array<Collective, 2> row_gathers(const JobView& job, TensorId tensor);

/// Decides whether the next tensor opens a group of its own; `groups` are those so far, of which
/// the last one is open and not empty.
using OpensGroup = std::function<bool(const std::vector<PlanGroup>& groups, TensorId next)>;

/// One that would overflow a group of `most` opens the next.
[[nodiscard]] OpensGroup overflowing(const JobView& job, Bytes most);

/// Cuts the tensors in this order into groups.
[[nodiscard]] std::vector<PlanGroup> cut_into_groups(const JobView& job,
                                                     const std::vector<TensorId>& order,
                                                     const OpensGroup& opens);

/// Which group is complete when gradients arrive one after the other, iteration after iteration.
class GradientGroups {
 public:
  GradientGroups() = default;
  /// @param groups  every tensor is in one of them.
  GradientGroups(const JobView& job, std::vector<PlanGroup> groups);

  GradientGroups(const JobView& job, const TensorGroups& groups)
      : GradientGroups(job, plan_of(job, groups)) {}

  [[nodiscard]] const std::vector<PlanGroup>& all() const { return groups_; }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] const PlanGroup& operator[](std::size_t group) const { return groups_[group]; }
  /// That of a tensor.
  [[nodiscard]] const PlanGroup& of(TensorId tensor) const {
    return groups_[group_of_[static_cast<std::size_t>(tensor)]];
  }
  /// Is there a group for each tensor?
  [[nodiscard]] bool of_one_each() const { return groups_.size() == group_of_.size(); }

  /// A gradient has arrived. @return its group, where it is complete with it.
  std::optional<std::size_t> arrived(TensorId tensor);
  /// The next group in order, where it is complete, once an iteration: of groups that go in order.
  std::optional<std::size_t> next();

 private:
  std::vector<PlanGroup> groups_;
  std::vector<std::size_t> group_of_;  ///< by tensor
  std::vector<std::size_t> missing_;   ///< by group: gradients that are still to come
  std::vector<bool> complete_;         ///< by group: for next()
  std::size_t next_ = 0;
};

}  // namespace gradwire
