#include "strategies/parts/gradient_groups.hpp"

#include <numeric>
#include <utility>

namespace gradwire {

PlanGroup group_of(const JobView& job, std::vector<TensorId> tensors, std::string note) {
  PlanGroup group{.tensors = std::move(tensors), .note = std::move(note)};
  for (const TensorId id : group.tensors) group.elements += job.tensor(id).elements;
  group.size = job.size_of(group.elements);
  return group;
}

std::vector<TensorId> registration_order(const JobView& job) {
  std::vector<TensorId> order(job.tensors.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TensorGroups one_group(const JobView& job) {
  return {job.gradient_order};
}

TensorGroups a_group_each(const JobView& job) {
  TensorGroups groups;
  for (const TensorId id : job.gradient_order) groups.push_back({id});
  return groups;
}

std::vector<PlanGroup> plan_of(const JobView& job, const TensorGroups& groups) {
  std::vector<PlanGroup> plan;
  for (const auto& tensors : groups) plan.push_back(group_of(job, tensors));
  return plan;
}

PlanGroup group_of_rows(const JobView& job, TensorId tensor) {
  PlanGroup group = group_of(job, {tensor}, "rows");
  group.size = job.size_exchanged(job.tensor(tensor));
  return group;
}

std::array<Collective, 2> row_gathers(const JobView& job, TensorId tensor) {
  const TensorInfo& info = job.tensor(tensor);
  const std::int64_t rows = job.world_size * job.sparse_rows(info);
  const auto gather = [tensor](Bytes size, const char* label) {
    return Collective{
        .kind = CollectiveKind::all_gather, .size = size, .tensors = {tensor}, .label = label};
  };
  return {gather(Bytes{rows * row_index_size}, "indices of rows"),
          gather(job.size_of_rows(info, rows), "rows")};
}

std::vector<PlanGroup> cut_into_groups(const JobView& job, const std::vector<TensorId>& order,
                                       const OpensGroup& opens) {
  std::vector<PlanGroup> groups;
  for (const TensorId id : order) {
    if (groups.empty() || opens(groups, id)) groups.emplace_back();
    groups.back().tensors.push_back(id);
    groups.back().elements += job.tensor(id).elements;
    groups.back().size += job.size_of(job.tensor(id));
  }
  return groups;
}

OpensGroup overflowing(const JobView& job, Bytes most) {
  return [&job, most](const auto& groups, TensorId next) {
    return groups.back().size + job.size_of(job.tensor(next)) > most;
  };
}

GradientGroups::GradientGroups(const JobView& job, std::vector<PlanGroup> groups)
    : groups_(std::move(groups)), group_of_(job.tensors.size(), 0), complete_(groups_.size()) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    missing_.push_back(groups_[group].tensors.size());
    for (const TensorId id : groups_[group].tensors) {
      group_of_[static_cast<std::size_t>(id)] = group;
    }
  }
}

std::optional<std::size_t> GradientGroups::arrived(TensorId tensor) {
  const std::size_t group = group_of_[static_cast<std::size_t>(tensor)];
  if (--missing_[group] > 0) return std::nullopt;
  missing_[group] = groups_[group].tensors.size();
  complete_[group] = true;
  return group;
}

std::optional<std::size_t> GradientGroups::next() {
  if (next_ == groups_.size() || !complete_[next_]) return std::nullopt;
  const std::size_t group = next_++;
  complete_[group] = false;
  if (next_ == groups_.size()) next_ = 0;
  return group;
}

}  // namespace gradwire
