#include "strategies/all_reduce/dear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace gradwire {
namespace {

/// _update_one_module copies a gradient out of the buffer and divides it, in two kernels.
constexpr int kernels_of_unpacking = 2;

/// Splits "reducescatter,allgather".
void read_excluded(Knobs& knobs, DearOptions& options) {
  const std::string parts =
      knobs.text("exclude_parts", "", "--exclude-parts, dear/imagenet_benchmark.py");
  std::string_view rest = parts;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    if (part == "reducescatter") {
      options.exclude_reducescatter = true;
    } else if (part == "allgather") {
      options.exclude_allgather = true;
    } else {
      knobs.refuse(
          "exclude_parts",
          fmt::format("'exclude_parts' has '{}'; expected reducescatter, allgather or both "
                      "with a comma",
                      part));
    }
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
}

}  // namespace

Dear::Dear(const DearOptions& options, const JobView& job)
    : SharedStepStrategy(job), options_(options), group_of_(job.tensors.size()) {
  make_modules();
  make_groups();
}

StrategyMaker Dear::read(Knobs& knobs) {
  DearOptions options;
  knobs.read("threshold", options.threshold, "THRESHOLD = 25 (of 2^20 bytes), dear/dear_dopt.py");
  // 4 is the origin's own value, used once its threshold is None.
  const auto nearby = static_cast<int>(
      knobs.count("num_nearby_layers", 4, -1, std::numeric_limits<int>::max(),
                  "NUM_NEARBY_LAYERS = 4, dear/dear_dopt.py; only where set, instead of the "
                  "threshold; -1: all modules in one group"));
  if (knobs.given("num_nearby_layers")) {
    if (knobs.given("threshold")) {
      knobs.refuse("num_nearby_layers",
                   "'num_nearby_layers' and 'threshold' are both set; expected one of them");
    }
    if (nearby == 0) {
      knobs.refuse("num_nearby_layers",
                   "'num_nearby_layers' is 0; expected at least 1, or -1 for all in one group");
    }
    options.num_nearby_layers = nearby;
  }
  read_excluded(knobs, options);
  return [options](const JobView& job) { return std::make_unique<Dear>(options, job); };
}

void Dear::make_modules() {
  std::map<int, Module> by_layer;
  for (TensorId id = 0; id < static_cast<TensorId>(job_.tensors.size()); ++id) {
    const TensorInfo& tensor = job_.tensor(id);
    Module& module = by_layer[tensor.layer];
    module.layer = tensor.layer;
    module.tensors.push_back(id);
    module.elements += tensor.elements;
    elements_ += tensor.elements;
  }
  for (auto& [layer, module] : by_layer) modules_.push_back(std::move(module));
}

void Dear::make_groups() {
  int modules = 0;  // of the open group
  for (Module& module : modules_) {
    const Bytes size = job_.size_of(module.elements);
    const bool fits = options_.num_nearby_layers
                          ? *options_.num_nearby_layers < 0 || modules < *options_.num_nearby_layers
                          : groups_.empty() || groups_.back().elements == 0 ||
                                groups_.back().size + size < options_.threshold;
    if (groups_.empty() || !fits) {
      groups_.push_back({.tensors = {}, .first_layer = module.layer});
      modules = 0;
    }
    ++modules;
    Group& group = groups_.back();
    group.elements += module.elements;
    group.size += size;
    module.group = static_cast<int>(groups_.size()) - 1;
    for (const TensorId id : module.tensors) {
      group.tensors.push_back(id);
      group_of_[static_cast<std::size_t>(id)] = module.group;
    }
  }
  for (Group& group : groups_) {
    const std::int64_t padding = job_.world_size - group.elements % job_.world_size;
    group.size = job_.size_of(group.elements + padding);
    group.missing = static_cast<int>(group.tensors.size());
  }
}

Traits Dear::traits() const {
  if (!active()) return {};
  return {.dynamic = true, .forward_hooks = true, .own_optimizer = true};
}

std::vector<CollectiveUse> Dear::collectives() const {
  return {{CollectiveKind::reduce_scatter}, {CollectiveKind::all_gather}};
}

void Dear::begin(int /*iteration*/, WorkerId /*worker*/) {
  entered_ = 0;
}

void Dear::gradient(TensorId tensor, WorkerId /*worker*/) {
  if (options_.exclude_reducescatter) return;
  poster_.post(copy_of(job_, job_.tensor(tensor), "copy into buffer"));
  const auto index = static_cast<std::size_t>(group_of_[static_cast<std::size_t>(tensor)]);
  Group& group = groups_[index];
  if (--group.missing > 0) return;
  group.missing = static_cast<int>(group.tensors.size());
  group.scattered = poster_.post(Collective{.kind = CollectiveKind::reduce_scatter,
                                            .size = group.size,
                                            .tensors = group.tensors,
                                            .label = fmt::format("reduce-scatter group {}", index)},
                                 [this] { scattered(); });
  ++scattering_;
}

void Dear::scattered() {
  --scattering_;
  start_gathers();
}

void Dear::finish(WorkerId /*worker*/) {
  updates_ = true;
  stepped_ = true;
  if (options_.exclude_reducescatter) {
    poster_.post(launch_marker("ready"), [this] { scattered(); });
    ++scattering_;
  } else {
    Gate gate;
    for (const Group& group : groups_) gate.until.push_back(group.scattered);
    poster_.post(std::move(gate));
  }
  start_gathers();
}

void Dear::start_gathers() {
  if (!stepped_ || scattering_ > 0) return;
  stepped_ = false;
  posted_ = 0;
  gathered_ = 0;
  gather_next();
}

void Dear::gather_next() {
  Group& group = groups_[posted_];
  group.gathered = poster_.post(Collective{.kind = CollectiveKind::all_gather,
                                           .size = group.size,
                                           .tensors = group.tensors,
                                           .label = fmt::format("all-gather group {}", posted_),
                                           .ready = Collective::Ready::at_once,
                                           .stream = 1},
                                [this] { gathered(); });
  ++posted_;
}

void Dear::gather_ahead() {
  if (posted_ < groups_.size() && gathered_ == posted_ && entered_ >= posted_) gather_next();
}

void Dear::forward(int layer, WorkerId /*worker*/) {
  if (!updates_ || options_.exclude_allgather) return;
  const auto module = std::ranges::lower_bound(modules_, layer, {}, &Module::layer);
  if (module == modules_.end() || module->layer != layer) return;
  const auto index = static_cast<std::size_t>(module->group);
  if (groups_[index].first_layer == layer) {
    wait_for_gather(groups_[index]);
    entered_ = index + 1;
    gather_ahead();
  }
  update(*module);
}

void Dear::wait_for_gather(Group& group) {
  const auto index = static_cast<std::size_t>(&group - groups_.data());
  // The launcher may be here before the slowest rank has done its step.
  const bool posted = !stepped_ && index < posted_;
  if (posted && index < gathered_) return;
  if (posted) {
    poster_.post(Gate{{group.gathered}});
    return;
  }
  group.flag = poster_.post(Flag{fmt::format("group {} gathered", index)});
  poster_.post(Gate{{group.flag}});
}

void Dear::update(const Module& module) {
  Bytes size = job_.size_of(module.elements);
  poster_.post(DeviceWork{.traffic = std::int64_t{2} * kernels_of_unpacking * size,
                          .kernels = kernels_of_unpacking * static_cast<int>(module.tensors.size()),
                          .label = "copy back and divide"});
  poster_.post(
      OptimizerStep{.share = static_cast<double>(module.elements) / static_cast<double>(elements_),
                    .label = fmt::format("update layer {}", module.layer)});
}

void Dear::gathered() {
  Group& group = groups_[gathered_++];
  if (group.flag >= 0) poster_.post(Raise{std::exchange(group.flag, -1)});
  gather_ahead();
}

std::vector<PlanGroup> Dear::plan(int iteration) const {
  std::vector<PlanGroup> plan;
  const auto add = [&](const Group& group, const char* note) {
    plan.push_back({group.tensors, group.elements, group.size, note});
  };
  if (iteration > 0 && !options_.exclude_allgather) {
    for (const Group& group : groups_) add(group, "all-gather in forward");
  }
  if (!options_.exclude_reducescatter) {
    for (std::size_t group = groups_.size(); group-- > 0;) {
      add(groups_[group], "reduce-scatter in backward");
    }
  }
  return plan;
}

}  // namespace gradwire
