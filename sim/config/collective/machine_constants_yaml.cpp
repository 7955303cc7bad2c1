#include "sim/config/collective/machine_constants_yaml.hpp"

#include <array>
#include <string>

namespace gradwire::config {
namespace {

void read_ends(Constants& from, const std::string& name, RelativeError& to) {
  std::array<double, 2> ends{};
  from.read(name, "", ends);
  to = {.low = ends[0], .high = ends[1]};
}

}  // namespace

void read_cpu_constants(Constants& from, HostCpu& to) {
  from.read("sum_rate", "GB/s", to.sum_rate);
  from.read("sum_rate_memory", "GB/s", to.sum_rate_memory);
  from.read("cached_up_to", "MiB", to.cached_up_to);
  from.read("memory_from", "MiB", to.memory_from);
}

void read_offload_constants(Constants& from, HostOffloadRates& to) {
  from.read("operations_over_fused", "", to.operations_over_fused);
  from.read("thread_rate", "GB/s", to.thread_rate);
  from.read("reached_alone", "", to.reached_alone);
  from.read("reached_unbound", "", to.reached_unbound);
  from.read("pageable_to_gpu", "GB/s", to.pageable_to_gpu);
  from.read("pageable_to_host", "GB/s", to.pageable_to_host);
}

void read_kernel_constants(Constants& from, KernelConstants& to) {
  from.read("tile_latency", "us", to.tile_latency);
  from.read("attention_backward_wait", "us", to.attention_backward_wait);
  from.read("fp32_half_intensity", "", to.fp32_half_intensity);
  from.read("matrix_half_intensity", "", to.matrix_half_intensity);
  from.read("fp32_tiles", "", to.fp32_tiles);
  from.read("matrix_tiles", "", to.matrix_tiles);
  from.read("split_depth_min", "", to.split_depth_min);
  from.read("cache_reach", "", to.cache_reach);
  from.read("flash_1_slowness", "", to.flash_1_slowness);
  from.read("triton_forward_slowness", "", to.triton_forward_slowness);
  from.read("triton_backward_slowness", "", to.triton_backward_slowness);
  from.read("spatial_norm_slowness", "", to.spatial_norm_slowness);
  from.read("drawn_power", "", to.drawn_power);
  from.read("fixed_power", "", to.fixed_power);
}

void read_memory_constants(Constants& from, MemoryConstants& to) {
  from.read("slack_share", "", to.slack_share);
  from.read("context", "MiB", to.context);
}

void read_profile_errors(Constants& from, ProfileErrors& to) {
  from.read("recorded", "", to.recorded);
  from.read("imported", "", to.imported);
  from.read("scaled", "", to.scaled);
  from.read("derived", "", to.derived);
  from.read("analytic", "", to.analytic);
  read_ends(from, "convolutions", to.convolutions);
  read_ends(from, "others", to.others);
  from.read("other_gpu", "", to.other_gpu);
  from.read("other_dtype", "", to.other_dtype);
  from.read("other_batch", "", to.other_batch);
  from.read("between_batches", "", to.between_batches);
}

void read_doubts(Constants& from, DoubtWidths& to) {
  for (const auto& [name, width] : doubt_widths) read_ends(from, std::string(name), to.*width);
  from.read("cost_table", "", to.cost_table);
  from.read("cost_fit", "", to.cost_fit);
  from.read("cost_model", "", to.cost_model);
}

const HostCpu& shipped_cpu() {
  static const HostCpu cpu = shipped_set("cpu", read_cpu_constants);
  return cpu;
}

const HostOffloadRates& shipped_offload() {
  static const HostOffloadRates rates = shipped_set("offload", read_offload_constants);
  return rates;
}

const MemoryConstants& shipped_memory() {
  static const MemoryConstants memory = shipped_set("memory", read_memory_constants);
  return memory;
}

const ProfileErrors& shipped_profile_errors() {
  static const ProfileErrors errors = shipped_set("profile_errors", read_profile_errors);
  return errors;
}

const DoubtWidths& shipped_doubts() {
  static const DoubtWidths widths = shipped_set("doubts", read_doubts);
  return widths;
}

const KernelConstants& shipped_kernels() {
  static const KernelConstants kernels = shipped_set("kernels", read_kernel_constants);
  return kernels;
}

}  // namespace gradwire::config
