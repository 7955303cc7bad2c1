#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/servers/byteps_options.hpp"

namespace gradwire {

/// What is handed over by one push_pull call: a tensor, or merged ones.
struct BytePsUnit {
  std::vector<TensorId> tensors{};
  std::int64_t elements = 0;
  Bytes size{0};
  std::string name{};
  std::int64_t priority = 0;         ///< small first
  std::vector<std::size_t> tasks{};  ///< indices of its partitions
};

/// A partition: what the stages work on.
struct BytePsTask {
  std::size_t unit = 0;
  int part = 0;
  std::uint64_t key = 0;  ///< declared number << key_part_bits + part
  Bytes size{0};
  int server = 0;
  int root = 0;  ///< index into BytePsOptions::reduce_roots
};

/// BYTEPS_PARTITION_BYTES as it is used: rounded up to a page for each of the machine's GPUs.
[[nodiscard]] Bytes partition_bound(Bytes partition_bytes, int local_size);

/// The units of a job, in the order in which they become ready: one a tensor, or with `threshold`
/// tensors merged in reverse order of registration until they hold as many elements.
[[nodiscard]] std::vector<BytePsUnit> byteps_units(const BytePsOptions& options,
                                                   const JobView& job);

/// Declares the units (PyTorch: by name; else by registration), cuts them into partitions of at
/// most `bound`, and lays their keys on servers. Fills in BytePsUnit::tasks.
[[nodiscard]] std::vector<BytePsTask> byteps_tasks(std::vector<BytePsUnit>& units,
                                                   const BytePsOptions& options, Bytes bound,
                                                   const ServerLayout& layout);

/// How often PCIE_REDUCE adds a vector of a partition's size: the ranks of the last PCIe switch,
/// side by side, add the other switches' buffers to theirs, each its part. The original knows two
/// switches; of more each is added.
/// Source: byteps/common/{core_loops,cpu_reducer}.cc.
[[nodiscard]] double pcie_reduce_passes(const BytePsOptions& options, const ServerLayout& layout);

/// "BytePS does not support unbalanced PCIe switches." (nccl_manager.cc), and goes on.
[[nodiscard]] std::vector<Warning> byteps_warnings(const BytePsOptions& options,
                                                   const ServerLayout& layout);

/// What a partition is called in the trace.
[[nodiscard]] std::string byteps_label(const BytePsUnit& unit, const BytePsTask& task);

/// For `show plan`: each partition, with its key and part.
/// @param servers  name the server of each as well.
[[nodiscard]] std::vector<PlanGroup> byteps_plan(const std::vector<BytePsUnit>& units,
                                                 const std::vector<BytePsTask>& tasks,
                                                 bool servers);

}  // namespace gradwire
