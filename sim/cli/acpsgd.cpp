#include "sim/cli/acpsgd.hpp"

#include <array>
#include <map>
#include <vector>

#include "sim/cli/predict.hpp"
#include "sim/report/acpsgd_lines.hpp"
#include "strategies/compression/acp_sgd.hpp"

namespace gradwire::cli {
namespace {

/// comm_time.py: `rank` of its models.
constexpr std::int64_t rank_of_bert = 32;
constexpr std::int64_t rank_of_others = 4;

std::vector<Bytes> buffers_of(const Strategy& strategy, int iteration) {
  std::vector<Bytes> buffers;
  for (const PlanGroup& group : strategy.plan(iteration)) buffers.push_back(group.size);
  return buffers;
}

AcpsgdMemory memory_of(const config::Scenario& scenario) {
  const Job job = job_of(scenario);  // the view refers to it
  const JobView view = job_view(job);
  const auto strategy = with_places(scenario, [&] { return scenario.make_strategy(view); });
  AcpsgdMemory memory{
      .gradients = Bytes{0}, .p = buffers_of(*strategy, 0), .q = buffers_of(*strategy, 1)};
  for (const TensorInfo& tensor : view.tensors) memory.gradients += view.size_of(tensor);
  return memory;
}

/// Adds up all-reduces of tensors of these sizes, and takes one of all.
FusionTimes times_of(std::string_view name, const JobView& view,
                     const std::vector<std::int64_t>& elements) {
  FusionTimes times{.name = name, .tensors = elements.size()};
  std::map<std::int64_t, Seconds> known;
  for (const std::int64_t count : elements) {
    const auto [place, is_new] = known.try_emplace(count);
    if (is_new) place->second = view.all_reduce_time(view.size_of(count));
    times.apart += place->second;
    times.elements += count;
  }
  times.fused = view.all_reduce_time(view.size_of(times.elements));
  return times;
}

}  // namespace

std::string acpsgd_text(const config::Scenario& scenario, const Point& point) {
  const bool has_factors = scenario.strategy_name == "acp_sgd";
  return (has_factors ? acpsgd_memory_lines(memory_of(scenario)) : "") + acpsgd_lines(point);
}

std::string comm_time_text(const config::Scenario& scenario) {
  const Job job = job_of(scenario);
  const JobView view = job_view(job);
  const std::int64_t rank =
      scenario.profile->model.starts_with("bert") ? rank_of_bert : rank_of_others;
  std::vector<std::int64_t> m;
  std::vector<std::int64_t> p;
  std::vector<std::int64_t> q;
  for (TensorId id = 0; id < static_cast<TensorId>(view.tensors.size()); ++id) {
    const LowRankGroup one = acp_group(view.tensors, {id}, rank);
    m.push_back(view.tensor(id).elements);
    p.push_back(one.raw + one.p_elements());
    q.push_back(one.raw + one.q_elements());
  }
  const std::array kinds = {times_of("M", view, m), times_of("P", view, p), times_of("Q", view, q)};
  return comm_time_lines(kinds);
}

}  // namespace gradwire::cli
