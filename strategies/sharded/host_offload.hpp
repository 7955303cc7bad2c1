#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/lane.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// What of a rank's share of the model lies in the memory of its host.
enum class Offload : std::uint8_t {
  none,
  optimizer,   ///< the optimizer's state with the gradients that it reads: the host runs its step
  parameters,  ///< and the parameters, which are copied to the GPU before they are gathered
};

/// Who takes the host's step.
enum class HostOptimizer : std::uint8_t {
  torch,        ///< torch.optim as it comes, one operation after the other
  torch_fused,  ///< torch.optim with `fused=True`, in one pass (FusedAdamKernel.cpp and its kin)
  deepspeed,    ///< DeepSpeedCPUAdam, in one pass (csrc/adam/cpu_adam_impl.cpp); torch of others
};
/// What DeepSpeed does beside it a parameter: gradients divided by the loss scale in place
/// (unscale_and_clip_grads: reads and writes 4 bytes).
constexpr double unscale_bytes = 8;
/// Casts the updated parameter to two bytes: reads 4, writes 2.
constexpr double cast_back_bytes = 6;

struct HostOffloadOptions {
  Offload what = Offload::none;
  HostOptimizer optimizer = HostOptimizer::deepspeed;
  double beside_bytes = 0;  ///< that the host moves a parameter beside the optimizer's step
  int threads = 0;  ///< of a rank that take the step, OMP_NUM_THREADS; 0: as many as memory feeds
  bool bound = false;  ///< each rank's threads are on cores of their own
  /// Of a machine, nominal, reads and writes together; 0: what its node says, else one socket with
  /// eight channels of DDR4-3200.
  BytesPerSecond memory_rate{0};
  bool pinned = true;                ///< copies are from and to page-locked memory
  std::int64_t parameter_bytes = 4;  ///< of a parameter that goes to the GPU
};

/// Reads `memory_rate` and `pin_memory`.
void read_host(Knobs& knobs, HostOffloadOptions& options, const char* pin_origin);
/// Tells which of these knobs are set although nothing lies in host memory.
/// @param switch_on  "cpu_offload: true"
void refuse_without_offload(const Knobs& knobs, const HostOffloadOptions& options,
                            std::initializer_list<const char*> names, const char* switch_on);

/// The part of sharded training that the host does: gradients' shards are copied to its memory, it
/// runs the optimizer's step, and updated parameters come back.
///
/// Copies take their GPU's way to the host memory next to it, shared with all that is on its PCIe
/// links at the time; those of a rank and direction run one after the other. The step is bound by
/// memory, whose rate the ranks of a machine share evenly, or by a rank's threads; so is what the
/// driver stages of copies that are not page-locked.
class HostOffload {
 public:
  /// REQUIRES: options.what is not none; `poster` outlives it.
  HostOffload(const HostOffloadOptions& options, const JobView& job, Poster& poster);

  /// The strategy's exchanges, which are no others.
  [[nodiscard]] std::vector<Exchange> exchanges() const;

  [[nodiscard]] bool has_parameters() const { return options_.what == Offload::parameters; }
  [[nodiscard]] bool pinned() const { return options_.pinned; }

  /// Copies a shard of parameters to the GPU.
  void fetch(std::int64_t elements, Poster::Then then);
  /// Bytes an element of gradients that are copied after a reduction.
  struct GradientCopies {
    std::int64_t to_gpu = 0;  ///< first: what was accumulated so far
    std::int64_t to_host = gradient_element_size;
  };
  /// Copies a shard of reduced gradients.
  void gradients(std::int64_t elements, const GradientCopies& copies, Poster::Then then);
  /// Once all launched before has run, the host updates so many elements; where parameters stay on
  /// the GPU they are copied there. Compute waits.
  void step(std::int64_t elements);

  /// Of one rank, the optimizer's step of so many elements.
  [[nodiscard]] Seconds step_time(std::int64_t elements) const;
  /// Moves what lies in host memory out of what the GPU holds.
  /// @param elements  of the rank's share.
  void move(Holding& held, std::int64_t elements) const;

 private:
  void copy(Lane& lane, std::int64_t elements, std::int64_t bytes, BytesPerSecond pageable,
            const char* label, Poster::Then then);

  HostOffloadOptions options_;
  int world_size_;
  double step_bytes_;    ///< a parameter
  int state_bytes_;      ///< a parameter
  BytesPerSecond rate_;  ///< of one rank's step
  BytesPerSecond pageable_to_gpu_;
  BytesPerSecond pageable_to_host_;
  Poster* poster_;
  Lane to_host_;
  Lane to_gpu_;
};

}  // namespace gradwire
