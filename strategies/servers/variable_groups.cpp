#include "strategies/servers/variable_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/core/random.hpp"

namespace gradwire {
namespace {

/// A variable or a part of it, and the server that holds it.
struct Piece {
  int server = 0;
  Bytes size{0};  ///< that travels
};

/// The bytes of part `part` of `parts` of a variable: whole elements, the first ones one more.
Bytes part_size(const JobView& job, const TensorInfo& tensor, int part, int parts) {
  const std::int64_t whole = tensor.elements / parts;
  const std::int64_t more = part < tensor.elements % parts ? 1 : 0;
  return job.size_of(whole + more);
}

/// A kernel's height, a matrix's inputs, a vector's length: what TensorFlow has first (HWIO, inputs
/// by outputs), where profiles have PyTorch's order (outputs first).
std::int64_t first_dimension(const TensorInfo& tensor) {
  constexpr std::size_t kernel_height = 2;
  if (tensor.shape.empty()) return tensor.elements;
  if (tensor.shape.size() > kernel_height) return tensor.shape[kernel_height];
  return tensor.shape.back();
}

/// AutoDist's PartitionedPS, get_num_shards.
int divisor_parts(const TensorInfo& tensor) {
  const std::int64_t dimension = first_dimension(tensor);
  for (std::int64_t parts = 2; parts * parts <= dimension; ++parts) {
    if (dimension % parts == 0) return static_cast<int>(parts);
  }
  return static_cast<int>(dimension);
}

/// For every tensor, where it lies.
std::vector<std::vector<Piece>> place(const JobView& job, int servers,
                                      VariablePlacement placement) {
  std::vector<std::int64_t> load(static_cast<std::size_t>(servers));
  std::vector<std::vector<Piece>> places;
  for (std::size_t index = 0; index < job.tensors.size(); ++index) {
    const TensorInfo& tensor = job.tensors[index];
    std::vector<int> holders(static_cast<std::size_t>(servers));
    std::iota(holders.begin(), holders.end(), 0);
    int parts = 1;
    switch (placement) {
      case VariablePlacement::round_robin:
        std::rotate(holders.begin(), holders.begin() + static_cast<int>(index) % servers,
                    holders.end());
        break;
      case VariablePlacement::partitioned:
        parts = servers;
        break;
      case VariablePlacement::by_divisor:
        parts = divisor_parts(tensor);
        [[fallthrough]];
      case VariablePlacement::by_load:
        std::ranges::stable_sort(
            holders, {}, [&](int server) { return load[static_cast<std::size_t>(server)]; });
        break;
    }
    places.emplace_back();
    for (int part = 0; part < parts; ++part) {
      const int server = holders[static_cast<std::size_t>(part % servers)];
      const Bytes size = part_size(job, tensor, part, parts);
      load[static_cast<std::size_t>(server)] += size.count();
      const bool sparse = job.sparse_rows(tensor) > 0;  // rows lie evenly in all parts
      places.back().push_back(
          {server, sparse ? Bytes{job.size_exchanged(tensor).count() / parts} : size});
    }
  }
  return places;
}

}  // namespace

ParameterServerOptions read_parameter_servers(Knobs& knobs, Bytes message) {
  static const std::vector<std::string> placements = {"round_robin", "by_load", "partitioned",
                                                      "by_divisor"};
  ParameterServerOptions options;
  options.server_cpu = knobs.cpu();
  const std::string placement =
      knobs.choice("variables", "round_robin", placements,
                   "tf.train.replica_device_setter; by_load: GreedyLoadBalancingStrategy; "
                   "partitioned: over all servers; by_divisor: AutoDist's PartitionedPS");
  options.placement =
      static_cast<VariablePlacement>(std::ranges::find(placements, placement) - placements.begin());
  options.message =
      knobs.size("message", message,
                 "ours: variables of a server travel in messages of at least this size; TensorFlow "
                 "sends one a variable, 1 B");
  static const std::vector<std::string> orders = {"arbitrary", "forward"};
  options.in_forward_order =
      knobs.choice("pull_order", "arbitrary", orders,
                   "TensorFlow's executor runs what is ready in any order (TicTac, Hashemi et al., "
                   "MLSys 2019, section 2.2)") == "forward";
  options.seed =
      static_cast<std::uint64_t>(knobs.count("seed", 1, 0, std::numeric_limits<std::int64_t>::max(),
                                             "of the arbitrary order; TensorFlow's is not seeded"));
  options.calls = read_remote_calls(knobs);
  return options;
}

Seconds VariableGroup::sum_time(const HostCpu& cpu) const {
  const auto variables = static_cast<std::int64_t>(tensors.size());
  return cpu.sum_slowdown(Bytes{size.count() / variables}) * (size / cpu.sum_rate);
}

std::vector<VariableGroup> variable_groups(const JobView& job, int servers,
                                           const ParameterServerOptions& options) {
  const auto places = place(job, servers, options.placement);
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
    for (const Piece& piece : places[static_cast<std::size_t>(id)]) {
      add(piece.server, id, piece.size);
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

WorkerVariables::WorkerVariables(const std::vector<VariableGroup>& groups) {
  for (const VariableGroup& group : groups) {
    gradients_.push_back(static_cast<int>(group.tensors.size()));
  }
}

void WorkerVariables::begin(Poster& poster) {
  missing_ = gradients_;
  waited_.assign(gradients_.size(), false);
  last_pulls_ = std::exchange(pulls_, {});
  for (std::size_t group = 0; group < gradients_.size(); ++group) {
    pulls_.push_back(poster.post(Flag{.label = "pulled"}));
  }
}

void WorkerVariables::gate(Poster& poster, const std::vector<OperationId>& pulls,
                           const std::vector<int>& groups, WorkerId worker) {
  if (pulls.empty()) return;
  Gate gate{.until = {}, .worker = worker};
  for (const int index : groups) {
    const auto at = static_cast<std::size_t>(index);
    if (waited_[at]) continue;
    waited_[at] = true;
    gate.until.push_back(pulls[at]);
  }
  if (!gate.until.empty()) poster.post(std::move(gate));
}

std::vector<PlanGroup> plan_of(const JobView& job, const std::vector<VariableGroup>& groups) {
  std::vector<PlanGroup> plan;
  plan.reserve(groups.size());
  for (const auto& group : groups) {
    plan.push_back({group.tensors, job.elements_in(group.size), group.size,
                    fmt::format("server {}", group.server)});
  }
  return plan;
}

}  // namespace gradwire
