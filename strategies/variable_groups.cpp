#include "strategies/variable_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/core/random.hpp"

namespace gradwire {
namespace {

constexpr int in_flight_most = 1'000'000;

/// For every tensor, the server that holds it whole.
std::vector<int> holders(const std::vector<TensorInfo>& tensors, int servers,
                         VariablePlacement placement) {
  std::vector<int> holder;
  std::vector<std::int64_t> load(static_cast<std::size_t>(servers));
  int next = 0;
  for (const auto& tensor : tensors) {
    const int server = placement == VariablePlacement::by_load
                           ? static_cast<int>(std::ranges::min_element(load) - load.begin())
                           : std::exchange(next, (next + 1) % servers);
    load[static_cast<std::size_t>(server)] += gradient_size(tensor).count();
    holder.push_back(server);
  }
  return holder;
}

/// The bytes of part `part` of `parts` of a variable: whole elements, the first ones one more.
Bytes part_size(const TensorInfo& tensor, int part, int parts) {
  const std::int64_t whole = tensor.elements / parts;
  const std::int64_t more = part < tensor.elements % parts ? 1 : 0;
  return Bytes{(whole + more) * gradient_element_size};
}

}  // namespace

ParameterServerOptions read_parameter_servers(Knobs& knobs, Bytes message) {
  static const std::vector<std::string> placements = {"round_robin", "by_load", "partitioned"};
  ParameterServerOptions options;
  const std::string placement =
      knobs.choice("variables", "round_robin", placements,
                   "tf.train.replica_device_setter; by_load: GreedyLoadBalancingStrategy; "
                   "partitioned: AutoDist's PartitionedPS, here over all servers");
  options.placement =
      static_cast<VariablePlacement>(std::ranges::find(placements, placement) - placements.begin());
  options.message =
      knobs.size("message", message,
                 "ours: variables of a server travel in messages of at least this size; TensorFlow "
                 "sends one a variable, 1 B");
  options.in_flight = static_cast<int>(knobs.count(
      "in_flight", options.in_flight, 1, in_flight_most,
      "assumed: messages at a time, each way; ps_sync: with each server, ps_async and ssp: "
      "of each worker"));
  static const std::vector<std::string> orders = {"arbitrary", "forward"};
  options.in_forward_order =
      knobs.choice("pull_order", "arbitrary", orders,
                   "TensorFlow's executor runs what is ready in any order (TicTac, Hashemi et al., "
                   "MLSys 2019, section 2.2)") == "forward";
  options.seed =
      static_cast<std::uint64_t>(knobs.count("seed", 1, 0, std::numeric_limits<std::int64_t>::max(),
                                             "of the arbitrary order; TensorFlow's is not seeded"));
  options.server_rate = knobs.rate(
      "server_rate", options.server_rate,
      "our measurement of one core that adds floats, sim/core/host_cpu.hpp; that a server sums and "
      "applies at the rate of one core is assumed");
  return options;
}

std::vector<VariableGroup> variable_groups(const JobView& job, int servers,
                                           const ParameterServerOptions& options) {
  const auto holder = holders(job.tensors, servers, options.placement);
  std::vector<VariableGroup> groups;
  std::vector<VariableGroup> open(static_cast<std::size_t>(servers));
  const auto close = [&](int server) {
    auto& group = open[static_cast<std::size_t>(server)];
    group.server = server;
    groups.push_back(std::exchange(group, {}));
  };
  const auto add = [&](int server, TensorId id, Bytes size) {
    if (size == Bytes{0}) return;
    auto& group = open[static_cast<std::size_t>(server)];
    group.tensors.push_back(id);
    group.size += size;
    if (group.size >= options.message) close(server);
  };
  for (const TensorId id : job.gradient_order) {
    if (options.placement != VariablePlacement::partitioned) {
      add(holder[static_cast<std::size_t>(id)], id, gradient_size(job.tensor(id)));
      continue;
    }
    for (int server = 0; server < servers; ++server) {
      add(server, id, part_size(job.tensor(id), server, servers));
    }
  }
  for (int server = 0; server < servers; ++server) {
    if (!open[static_cast<std::size_t>(server)].tensors.empty()) close(server);
  }
  return groups;
}

std::vector<std::vector<int>> groups_of_tensors(const JobView& job,
                                                const std::vector<VariableGroup>& groups) {
  std::vector<std::vector<int>> of(job.tensors.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const TensorId id : groups[g].tensors) {
      of[static_cast<std::size_t>(id)].push_back(static_cast<int>(g));
    }
  }
  return of;
}

std::vector<std::vector<int>> groups_of_layers(const JobView& job,
                                               const std::vector<VariableGroup>& groups) {
  std::size_t layers = job.layers.size();
  for (const auto& tensor : job.tensors) {
    layers = std::max(layers, static_cast<std::size_t>(tensor.layer) + 1);
  }
  std::vector<std::vector<int>> of(layers);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const TensorId id : groups[g].tensors) {
      auto& list = of[static_cast<std::size_t>(job.tensor(id).layer)];
      if (list.empty() || list.back() != static_cast<int>(g)) list.push_back(static_cast<int>(g));
    }
  }
  return of;
}

std::vector<int> forward_order(const JobView& job, const std::vector<VariableGroup>& groups) {
  std::vector<int> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  const auto first_layer = [&](int group) {
    int layer = std::numeric_limits<int>::max();
    for (const TensorId id : groups[static_cast<std::size_t>(group)].tensors) {
      layer = std::min(layer, job.tensor(id).layer);
    }
    return layer;
  };
  std::ranges::stable_sort(order, {}, first_layer);
  return order;
}

std::vector<int> pull_order(const ParameterServerOptions& options, const std::vector<int>& forward,
                            int iteration, int worker) {
  if (options.in_forward_order) return forward;
  std::vector<int> order = forward;
  const std::uint64_t state =
      absorb(absorb(absorb(0, options.seed), static_cast<std::uint64_t>(iteration)),
             static_cast<std::uint64_t>(worker));
  std::ranges::sort(order, {}, [&](int group) {
    return std::pair{absorb(state, static_cast<std::uint64_t>(group)), group};
  });
  return order;
}

std::vector<PlanGroup> plan_of(const std::vector<VariableGroup>& groups) {
  std::vector<PlanGroup> plan;
  plan.reserve(groups.size());
  for (const auto& group : groups) {
    plan.push_back({group.tensors, group.size.count() / gradient_element_size, group.size,
                    fmt::format("server {}", group.server)});
  }
  return plan;
}

}  // namespace gradwire
