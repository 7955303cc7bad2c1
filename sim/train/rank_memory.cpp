#include "sim/train/rank_memory.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"

namespace gradwire {
namespace {

constexpr double master_bytes = 4;  ///< of a parameter, and of its gradient
constexpr double cast_bytes = 2;    ///< of its copy under mixed precision

std::string_view largest_part(const RankMemory& memory) {
  const std::array<std::pair<double, std::string_view>, 6> parts = {
      {{memory.weights, "weights"},
       {memory.gradients, "gradients"},
       {memory.optimizer, "the optimizer's state"},
       {memory.activations, "activations"},
       {memory.gathered, "gathered parameters"},
       {memory.buffers, "buffers of gradients"}}};
  return std::ranges::max_element(parts)->second;
}

}  // namespace

std::optional<RankMemory> rank_memory(const ComputeProfile& profile, const GpuSpec& gpu,
                                      const Holding& holding, int micro_batches, int kept) {
  assert(micro_batches >= 1);
  if (!profile.activations || !profile.optimizer_state) return std::nullopt;
  const auto parameters = static_cast<double>(profile.parameter_count());
  const bool copies = holding.weights >= 1 && (profile.dtype == "fp16" || profile.dtype == "bf16");
  RankMemory memory;
  memory.weights = parameters * holding.weights * (master_bytes + (copies ? cast_bytes : 0));
  memory.gradients = parameters * holding.gradients * master_bytes;
  memory.optimizer =
      parameters * holding.optimizer * static_cast<double>(profile.optimizer_state->count());
  memory.activations = kept * static_cast<double>(profile.activations->count());
  memory.gathered = static_cast<double>(holding.gathered.count());
  memory.buffers = static_cast<double>(holding.buffers.count());
  const double backward = micro_batches > 1 ? memory.gradients + memory.activations
                                            : std::max(memory.gradients, memory.activations);
  memory.peak = memory.weights + memory.optimizer + memory.gathered + memory.buffers + backward;
  memory.capacity = static_cast<double>(gpu.memory_size.count());
  return memory;
}

bool fits(const RankMemory& memory) {
  return memory.capacity <= 0 || memory.peak <= memory.capacity;
}

std::optional<Warning> memory_warning(const RankMemory& memory, const ComputeProfile& profile) {
  if (fits(memory)) return std::nullopt;
  return Warning{
      "memory",
      plain_format("{} with a batch of {} does not fit: a GPU keeps some {} at once, most "
                   "of it {}; {} has {}",
                   profile.model, profile.batch_per_gpu, readable_bytes(memory.peak),
                   largest_part(memory), profile.gpu, readable_bytes(memory.capacity))};
}

}  // namespace gradwire
