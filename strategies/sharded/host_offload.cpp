#include "strategies/sharded/host_offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr int to_host_exchange = 0;
constexpr int to_gpu_exchange = 1;
constexpr int optimizer_thread = 0;

/// One socket, eight channels of 8 bytes, DDR4-3200.
constexpr BytesPerSecond memory_rate_default{8 * 8 * 3200e6};
/// Accesses of memory a byte that is staged: read, written, and read or written by the GPU.
constexpr int staging_accesses = 3;

int most_ranks_of_a_machine(const JobView& job) {
  std::map<int, int> ranks;
  int most = 1;
  for (int rank = 0; rank < job.world_size; ++rank) {
    most = std::max(most, ++ranks[machine_of(job, rank)]);
  }
  return most;
}

/// Of memory that torch.optim's operations move a parameter, in bytes of a single pass that take as
/// long: Adam's were measured, others alike (assumed).
double slowed(double bytes, const JobView& job) {
  constexpr HostStep adam;
  return job.host_offload.operations_over_fused * adam.fused_bytes / adam.bytes * bytes;
}

double bytes_of_step(const HostOffloadOptions& options, const JobView& job) {
  const HostStep& step = job.host_step;
  const bool one_pass = options.optimizer == HostOptimizer::torch_fused ||
                        (options.optimizer == HostOptimizer::deepspeed && step.deepspeed);
  double bytes = one_pass ? step.fused_bytes : slowed(step.bytes, job);
  // DeepSpeed takes norms on the GPU, and divides by them with the loss scale.
  if (job.clips_gradients && options.optimizer != HostOptimizer::deepspeed) {
    bytes += slowed(clipping_bytes, job);
  }
  return bytes + options.beside_bytes;
}

BytesPerSecond rate_of_step(const HostOffloadOptions& options, const JobView& job) {
  BytesPerSecond machine = options.memory_rate;
  if (machine.count() <= 0) machine = job.host_memory_rate;
  if (machine.count() <= 0) machine = memory_rate_default;
  const HostOffloadRates& rates = job.host_offload;
  const int ranks = most_ranks_of_a_machine(job);
  const bool crowded = ranks > 1 && options.threads == 0 && !options.bound;
  const BytesPerSecond memory =
      ((crowded ? rates.reached_unbound : rates.reached_alone) / ranks) * machine;
  if (options.threads == 0) return memory;
  return std::min(memory, static_cast<double>(options.threads) * rates.thread_rate);
}

}  // namespace

void read_host(Knobs& knobs, HostOffloadOptions& options, const char* pin_origin) {
  const BytesPerSecond rate =
      knobs.rate("memory_rate", memory_rate_default,
                 "of a machine's memory, nominal, shared by its ranks' optimizer steps; the node's "
                 "host_memory, else one socket with eight channels of DDR4-3200");
  knobs.read("pin_memory", options.pinned, pin_origin);
  if (knobs.given("memory_rate")) options.memory_rate = rate;
}

void refuse_without_offload(const Knobs& knobs, const HostOffloadOptions& options,
                            std::initializer_list<const char*> names, const char* switch_on) {
  if (options.what != Offload::none) return;
  for (const char* name : names) {
    if (knobs.given(name)) {
      knobs.without_effect(name, fmt::format("expected '{}' beside it", switch_on));
    }
  }
}

HostOffload::HostOffload(const HostOffloadOptions& options, const JobView& job, Poster& poster)
    : options_(options),
      world_size_(job.world_size),
      step_bytes_(bytes_of_step(options, job)),
      state_bytes_(job.host_step.state_bytes),
      rate_(rate_of_step(options, job)),
      pageable_to_gpu_(job.host_offload.pageable_to_gpu),
      pageable_to_host_(job.host_offload.pageable_to_host),
      poster_(&poster),
      to_host_(poster, messages_by(to_host_exchange)),
      to_gpu_(poster, messages_by(to_gpu_exchange)) {
  assert(options.what != Offload::none);
}

std::vector<Exchange> HostOffload::exchanges() const {
  Exchange out{.name = "copy to host", .phases = {{}}};
  for (int rank = 0; rank < world_size_; ++rank) {
    out.phases.front().push_back({gpu_of(rank), host_of(rank)});
  }
  return {out, reversed(out, "copy to GPU")};
}

void HostOffload::copy(Lane& lane, std::int64_t elements, std::int64_t bytes,
                       BytesPerSecond pageable, const char* label, Poster::Then then) {
  if (elements == 0 || bytes == 0) return then();
  const Bytes size{elements * bytes};
  LaneItem item{.size = size, .label = label, .then = std::move(then)};
  if (!options_.pinned) {
    const BytesPerSecond staged = std::min(pageable, (1.0 / staging_accesses) * rate_);
    item.beside = {HostWork{HostWork::no_thread, size / staged, "stage"}};
  }
  lane.add(std::move(item));
}

void HostOffload::fetch(std::int64_t elements, Poster::Then then) {
  copy(to_gpu_, elements, options_.parameter_bytes, pageable_to_gpu_, "parameters to GPU",
       std::move(then));
}

void HostOffload::gradients(std::int64_t elements, const GradientCopies& copies,
                            Poster::Then then) {
  copy(to_gpu_, elements, copies.to_gpu, pageable_to_gpu_, "accumulated gradients to GPU",
       [this, elements, out = copies.to_host, then = std::move(then)] {
         copy(to_host_, elements, out, pageable_to_host_, "gradients to host", then);
       });
}

Seconds HostOffload::step_time(std::int64_t elements) const {
  return Seconds{static_cast<double>(elements) * step_bytes_ / rate_.count()};
}

void HostOffload::step(std::int64_t elements) {
  const OperationId updated = poster_->post(Flag{"updated"});
  poster_->post(launch_marker("gradients on host"), [this, elements, updated] {
    poster_->post(HostWork{optimizer_thread, step_time(elements), "optimizer on host"},
                  [this, elements, updated] {
                    const auto raise = [this, updated] { poster_->post(Raise{updated}); };
                    if (has_parameters()) return raise();
                    fetch(elements, raise);
                  });
  });
  poster_->post(Gate{{updated}});
}

void HostOffload::move(Holding& held, std::int64_t elements) const {
  held.optimizer = 0;
  held.gradients = 0;
  held.step = Bytes{0};
  // weights and gradients in fp32 with the state; of a model in two bytes its own beside them
  std::int64_t bytes = 2 * gradient_element_size + state_bytes_;
  if (has_parameters()) {
    held.weights = 0;
    if (options_.parameter_bytes < gradient_element_size) bytes += options_.parameter_bytes;
  }
  held.host = Bytes{elements * bytes};
}

}  // namespace gradwire
