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
constexpr double half_bytes = 2;    ///< of both in two bytes, or of a weight's copy

std::string_view largest_part(const RankMemory& memory) {
  const std::array<std::pair<double, std::string_view>, 8> parts = {
      {{memory.weights, "weights"},
       {memory.gradients, "gradients"},
       {memory.optimizer, "the optimizer's state"},
       {memory.activations, "activations"},
       {memory.logits, "logits"},
       {memory.gathered, "gathered parameters"},
       {memory.step, "what the optimizer's step makes"},
       {memory.buffers, "buffers of gradients"}}};
  return std::ranges::max_element(parts)->second;
}

bool fits_host(const RankMemory& memory) {
  return memory.host_capacity <= 0 || memory.host <= memory.host_capacity;
}

}  // namespace

std::optional<RankMemory> rank_memory(const ComputeProfile& profile, const GpuSpec& gpu,
                                      const Holding& holding, int micro_batches, int kept) {
  assert(micro_batches >= 1);
  if (!profile.activations || !profile.optimizer_state) return std::nullopt;
  const auto parameters = static_cast<double>(profile.parameter_count());
  const bool mixed = profile.dtype == "fp16" || profile.dtype == "bf16";
  const bool pure = mixed && !profile.master_weights;
  const bool half = pure || (mixed && holding.mixed == MixedWeights::half);
  const bool copies = mixed && !half && holding.weights >= 1;
  const double own_bytes = half ? half_bytes : master_bytes;
  const auto state = static_cast<double>(profile.optimizer_state->count());
  const double copied = copies ? half_bytes * holding.weights : 0;  // of an element that is cast
  const auto cast = [&](std::int64_t elements) { return copied * static_cast<double>(elements); };
  RankMemory memory;
  memory.weights = parameters * holding.weights * own_bytes + cast(profile.casts.all);
  memory.gradients =
      static_cast<double>(profile.gradient_elements()) * holding.gradients * own_bytes;
  memory.optimizer = parameters * holding.optimizer * (state + (half && !pure ? master_bytes : 0));
  memory.activations = kept * static_cast<double>(profile.activations->count());
  memory.logits = static_cast<double>(profile.logits.count());
  memory.gathered = static_cast<double>(holding.gathered.count());
  memory.buffers = static_cast<double>(holding.buffers.count());
  const double weights = memory.weights - cast(profile.casts.all);
  const double all_along = weights + memory.optimizer + memory.gathered + memory.buffers;
  // Of several micro-batches one is in backward at a time, the others' activations stay.
  const double others = memory.activations - static_cast<double>(profile.activations->count());
  const double forward_end =
      others + static_cast<double>(profile.forward_end.count()) + cast(profile.casts.all);
  const double of_loss = memory.activations + memory.logits + cast(profile.casts.kept);
  const double fullest =
      others + static_cast<double>(profile.fullest.activations.count()) +
      static_cast<double>(profile.fullest.gradients) * holding.gradients * own_bytes +
      cast(profile.fullest.casts);
  const double of_backward = micro_batches > 1
                                 ? memory.gradients + std::max(forward_end, of_loss)
                                 : std::max({memory.gradients, forward_end, of_loss, fullest});
  // At the step activations, casts and gathered parameters are gone.
  const double lists = holding.fused_step ? 0 : static_cast<double>(profile.step_lists.count());
  const double made = parameters * holding.optimizer * lists +
                      (half && !pure ? static_cast<double>(holding.step.count()) : 0);
  const double of_step = weights + memory.optimizer + memory.buffers + memory.gradients + made;
  memory.allocated = std::max(all_along + of_backward, of_step);
  if (memory.allocated > all_along + of_backward) memory.step = made;
  memory.slack = gpu.memory.slack_share * memory.allocated;
  memory.context = static_cast<double>(gpu.memory.context.count());
  memory.peak = memory.allocated + memory.slack + memory.context;
  memory.capacity = static_cast<double>(gpu.memory_size.count());
  memory.host = static_cast<double>(holding.host.count());
  return memory;
}

bool fits(const RankMemory& memory) {
  const bool on_gpu = memory.capacity <= 0 || memory.allocated + memory.context <= memory.capacity;
  return on_gpu && fits_host(memory);
}

std::optional<Warning> memory_warning(const RankMemory& memory, const ComputeProfile& profile) {
  if (fits(memory) && (memory.capacity <= 0 || memory.peak <= memory.capacity)) {
    return std::nullopt;
  }
  if (!fits_host(memory)) {
    return Warning{"memory",
                   plain_format("{} does not fit: a rank keeps {} in its host's memory, where its "
                                "share is {}",
                                profile.model, readable_bytes(memory.host),
                                readable_bytes(memory.host_capacity))};
  }
  if (fits(memory)) {
    return Warning{"memory-tight",
                   plain_format("{} with a batch of {} takes some {} of a GPU with the slack of "
                                "PyTorch's allocator, and {} has {}: it may have to empty its "
                                "cache, which waits for the GPU",
                                profile.model, profile.batch_per_gpu, readable_bytes(memory.peak),
                                profile.gpu, readable_bytes(memory.capacity))};
  }
  const bool lists = memory.step > 0 && profile.step_lists > Bytes{0};
  return Warning{
      "memory",
      plain_format("{} with a batch of {} does not fit: a GPU keeps some {} at once, most "
                   "of it {}; {} has {}{}",
                   profile.model, profile.batch_per_gpu,
                   readable_bytes(memory.allocated + memory.context), largest_part(memory),
                   profile.gpu, readable_bytes(memory.capacity),
                   lists ? "; 'optimizer_step' fused or loop makes no lists, here " +
                               readable_bytes(memory.step)
                         : "")};
}

}  // namespace gradwire
