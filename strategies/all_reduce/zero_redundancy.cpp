#include "strategies/all_reduce/zero_redundancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "strategies/parts/gradient_groups.hpp"

namespace gradwire {
namespace {

std::int64_t elements_of(const JobView& job, const std::vector<TensorId>& tensors) {
  return group_of(job, tensors).elements;
}

}  // namespace

std::vector<std::vector<TensorId>> partition_parameters(const JobView& job) {
  std::vector<TensorId> order = registration_order(job);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](TensorId id) { return job.tensor(id).elements; });
  std::vector<std::vector<TensorId>> shares(static_cast<std::size_t>(job.world_size));
  std::vector<std::int64_t> elements(shares.size(), 0);
  for (const TensorId id : order) {
    const auto rank =
        static_cast<std::size_t>(std::ranges::min_element(elements) - elements.begin());
    shares[rank].push_back(id);
    elements[rank] += job.tensor(id).elements;
  }
  return shares;
}

void post_sharded_step(const JobView& job, bool as_bucket_view, Poster& poster) {
  const auto shares = partition_parameters(job);
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const auto& share : shares) {
    all += elements_of(job, share);
    largest = std::max(largest, elements_of(job, share));
  }
  poster.post(OptimizerStep{.share = static_cast<double>(largest) / static_cast<double>(all),
                            .label = "step of the own share"});
  Gate gate;
  const auto broadcast = [&](std::int64_t elements, std::vector<TensorId> tensors,
                             std::string label) {
    gate.until.push_back(poster.post(Collective{.kind = CollectiveKind::broadcast,
                                                .size = job.size_of(elements),
                                                .tensors = std::move(tensors),
                                                .label = std::move(label)}));
  };
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    if (as_bucket_view) {
      broadcast(std::max<std::int64_t>(1, elements_of(job, shares[rank])), shares[rank],
                fmt::format("parameters of rank {}", rank));
      continue;
    }
    for (const TensorId id : shares[rank]) {
      broadcast(job.tensor(id).elements, {id}, job.tensor(id).name);
    }
  }
  poster.post(std::move(gate));
}

}  // namespace gradwire
