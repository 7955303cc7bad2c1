#include "strategies/servers/byteps_partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gradwire {
namespace {

/// Of x86, and of ARM with small pages.
constexpr std::int64_t page_size = 4096;

/// Source: byteps/common/global.h, GetReduceRootByKey.
int root_of(std::uint64_t key, const BytePsOptions& options) {
  const std::size_t roots = options.reduce_roots.size();
  return roots == 0 ? 0 : static_cast<int>(djb2(key) % roots);
}

}  // namespace

Bytes partition_bound(Bytes partition_bytes, int local_size) {
  const std::int64_t unit = local_size * page_size;
  return Bytes{(partition_bytes.count() + unit - 1) / unit * unit};
}

std::vector<BytePsUnit> byteps_units(const BytePsOptions& options, const JobView& job) {
  std::vector<TensorId> order = job.gradient_order;
  if (options.threshold > 0) {
    order = reverse_registration_order(static_cast<int>(job.tensors.size()));
  }
  std::vector<BytePsUnit> units;
  bool open = false;
  for (const TensorId id : order) {
    const TensorInfo& tensor = job.tensor(id);
    if (!open) units.push_back({.name = tensor.name});
    BytePsUnit& unit = units.back();
    unit.tensors.push_back(id);
    unit.elements += tensor.elements;
    unit.size += job.size_of(tensor);
    open = unit.elements < options.threshold;
    // MXNet passes the negated index of the parameter; PyTorch and TensorFlow 0 for all.
    if (options.framework == "mxnet") unit.priority = unit.tensors.front();
  }
  return units;
}

std::vector<BytePsTask> byteps_tasks(std::vector<BytePsUnit>& units, const BytePsOptions& options,
                                     Bytes bound, const ServerLayout& layout) {
  std::vector<std::size_t> declared(units.size());
  std::iota(declared.begin(), declared.end(), 0);
  if (options.framework == "pytorch") {
    std::ranges::stable_sort(declared, {}, [&units](std::size_t unit) { return units[unit].name; });
  } else {
    std::ranges::stable_sort(declared, {},
                             [&units](std::size_t unit) { return units[unit].tensors.front(); });
  }
  std::vector<BytePsTask> tasks;
  for (std::size_t number = 0; number < declared.size(); ++number) {
    BytePsUnit& unit = units[declared[number]];
    std::int64_t left = unit.size.count();
    for (int part = 0; left > 0; ++part) {
      const std::uint64_t key =
          (static_cast<std::uint64_t>(number) << key_part_bits) + static_cast<std::uint64_t>(part);
      const std::int64_t size = std::min(left, bound.count());
      unit.tasks.push_back(tasks.size());
      tasks.push_back({.unit = declared[number],
                       .part = part,
                       .key = key,
                       .size = Bytes{size},
                       .server = server_of(key, options.hash, layout),
                       .root = root_of(key, options)});
      left -= size;
    }
  }
  return tasks;
}

std::string byteps_label(const BytePsUnit& unit, const BytePsTask& task) {
  if (unit.tasks.size() == 1) return unit.name;
  return fmt::format("{} part {}", unit.name, task.part);
}

double pcie_reduce_passes(const BytePsOptions& options, const ServerLayout& layout) {
  return static_cast<double>(layout.other_parts(options.part())) / layout.part_size(options.part());
}

std::vector<Warning> byteps_warnings(const BytePsOptions& options, const ServerLayout& layout) {
  if (!layout.uneven(options.part())) return {};
  return {{"knob-not-followed",
           fmt::format("'pcie_switch_size' is {}, which does not divide the {} GPUs of a machine: "
                       "NCCL joins all of them, as in BytePS",
                       options.pcie_switch_size, layout.local_size())}};
}

std::vector<PlanGroup> byteps_plan(const std::vector<BytePsUnit>& units,
                                   const std::vector<BytePsTask>& tasks, bool servers) {
  std::vector<PlanGroup> groups;
  for (const BytePsUnit& unit : units) {
    for (const std::size_t index : unit.tasks) {
      const BytePsTask& task = tasks[index];
      std::string note = fmt::format("key {}", task.key);
      if (unit.tasks.size() > 1) {
        note += fmt::format(", part {} of {}", task.part + 1, unit.tasks.size());
      }
      if (servers) note += fmt::format(", server {}", task.server);
      groups.push_back({unit.tensors, unit.elements * task.size.count() / unit.size.count(),
                        task.size, std::move(note)});
    }
  }
  return groups;
}

}  // namespace gradwire
