#include "strategies/compression/systems/acpsgd.hpp"

#include <numeric>

#include "strategies/compression/acp_sgd.hpp"
#include "strategies/compression/compressed.hpp"

namespace gradwire {

TensorGroups acp_groups(const JobView& job, std::int64_t rank, Bytes threshold, bool reduces_p) {
  const auto side = [&](const LowRankGroup& group) {
    return reduces_p ? group.p_elements() : group.q_elements();
  };
  std::vector<TensorId> ids(job.tensors.size());
  std::iota(ids.rbegin(), ids.rend(), 0);
  const LowRankGroup all = acp_group(job.tensors, ids, rank);
  const double scale = static_cast<double>(side(all) + all.raw) /
                       static_cast<double>(all.matrix_elements() + all.raw);
  const double limit = static_cast<double>(threshold.count()) * scale;
  TensorGroups groups;
  double size = 0;
  for (const TensorId id : ids) {
    const LowRankGroup one = acp_group(job.tensors, {id}, rank);
    const auto bytes = static_cast<double>((side(one) + one.raw) * gradient_element_size);
    if (groups.empty() || size + bytes > limit) {
      groups.emplace_back();
      size = 0;
    }
    groups.back().push_back(id);
    size += bytes;
  }
  return groups;
}

StrategyMaker read_acp_sgd(Knobs& knobs) {
  const std::int64_t rank = AcpSgd::read_rank(knobs);
  constexpr Bytes threshold_default{25LL * 1024 * 1024};
  const Bytes threshold =
      knobs.size("threshold", threshold_default,
                 "acpsgd.py:98: 25 MB of gradients; 0 B: one all-reduce a tensor", Bytes{0});
  return [rank, threshold](const JobView& job) -> std::unique_ptr<Strategy> {
    auto even = acp_groups(job, rank, threshold, true);
    auto odd = acp_groups(job, rank, threshold, false);
    auto inner = std::make_unique<Grouped>(
        [even, odd](int iteration) { return reduces_p(iteration) ? even : odd; },
        GroupedOptions{.copies = false}, job);
    return std::make_unique<Compressed>(std::move(inner), std::make_unique<AcpSgd>(rank, job), job,
                                        1);
  };
}

}  // namespace gradwire
