#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/host_step.hpp"
#include "sim/core/uncertainty.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Index of a gradient tensor in registration order (the order of `model.parameters()`).
using TensorId = int;

/// One trainable tensor of a layer.
struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  /// End of the kernel that produces the gradient, since the start of backward, as recorded. Absent
  /// in analytic profiles. Shown and checked; the replay derives readiness from the layers' times.
  std::optional<Seconds> ready;
  /// A module behind all others has it as a parameter of its own, too: the weight of a decoder that
  /// is the embedding's table.
  bool shared = false;
  /// Rows of a matrix, or elements of a vector, that its gradient of one micro-batch has, with
  /// their indices: nn.Embedding(sparse=True), TensorFlow's IndexedSlices. 0: it is dense.
  std::int64_t sparse_rows = 0;

  [[nodiscard]] std::int64_t elements() const;
  /// Of its gradient.
  [[nodiscard]] std::int64_t gradient_elements() const;
};

/// Of all of them together.
[[nodiscard]] std::int64_t elements_of(std::span<const ParameterSpec> parameters);

/// What the host's thread takes for one layer: to call its operators and launch their kernels.
struct LaunchTimes {
  Seconds forward;
  Seconds backward;  ///< with the hooks of its gradients
};

/// One layer of the network, in forward order. Times are medians of one iteration on one GPU.
struct LayerProfile {
  std::string name;
  /// conv1 conv3 conv7 grouped_conv linear norm act add pool embed softmax other
  std::string kind;
  Seconds forward;
  Seconds backward;
  double stdev = 0;  ///< relative standard deviation of its time, without the iteration's factor
  double flops = 0;  ///< forward floating-point operations, 0 when unknown
  std::vector<ParameterSpec> parameters;
  std::optional<LaunchTimes> launches{};  ///< absent: the profile's host_launch in each direction
  bool made_again = false;                ///< backward runs its forward once more (checkpoints)
};

/// Where a profile comes from; every result repeats it.
struct ProfileSource {
  std::string kind;  ///< recorded | imported | derived | analytic-scaled | analytic
  std::string tool;
  std::string file;
  std::string date;
  std::string notes;
};

/// A moment of a micro-batch's backward.
struct BackwardMoment {
  Bytes activations{0};        ///< still kept
  std::int64_t gradients = 0;  ///< elements of those made so far
  std::int64_t casts = 0;      ///< elements of weights whose copies autocast still keeps
};

/// Elements of weights that torch.autocast keeps copies of, where a model is not in two bytes
/// itself: its cache does until forward has ended (torch/amp/autocast_mode.py, __exit__), from then
/// on the graph, until backward has passed them (saved tensors of a product), but none of a block
/// that is made again, before it is (torch/utils/checkpoint.py).
struct CastWeights {
  std::int64_t all = 0;   ///< when forward ends
  std::int64_t kept = 0;  ///< when backward begins
};

/// What one GPU does in one iteration of a model without communication.
///
/// A shape is a profile of no stated GPU, batch and type: its times count by their ratios only, and
/// it becomes a profile once those are given and it is scaled_to() an iteration.
struct ComputeProfile {
  std::string model;
  std::string gpu;  ///< empty in a shape, and then batch_per_gpu is 0 and dtype empty
  int batch_per_gpu = 0;
  std::string dtype;
  ProfileSource source;
  Seconds iteration;        ///< median wall time of an iteration; at least the sum of the parts
  Seconds gpu_busy;         ///< of which the GPU was busy
  double factor_stdev = 0;  ///< relative standard deviation of the iteration-wide factor
  Seconds optimizer;        ///< median device time of the optimizer step
  Bytes optimizer_bytes_per_parameter{0};
  bool fp8 = false;              ///< blocks' linear layers multiply in 8 bits, whose peak MFU is of
  bool clips_gradients = false;  ///< by their norm, which is in `optimizer`
  bool master_weights = true;    ///< of fp16 and bf16: weights, gradients and state are in fp32
  Seconds host_launch;           ///< host time to launch one layer's kernels, in one direction
  std::optional<Seconds> optimizer_launch;  ///< host time of the optimizer; absent: host_launch
  /// Device time of taking the loss's scale out of the gradients, where the host then waits to read
  /// whether they are finite and launches the optimizer only after that (torch.amp.GradScaler).
  std::optional<Seconds> unscale;
  int tokens_per_sample = 0;         ///< of a sequence; 0: samples are no text, or nobody says
  double recomputed_flops = 0;       ///< forward operations that backward does again
  std::optional<Bytes> activations;  ///< kept for a micro-batch's backward; absent: unknown
  Bytes logits{0};                   ///< beside them the most that its loss keeps
  Bytes forward_end{0};              ///< activations and what a loss keeps, when forward ends
  BackwardMoment fullest{};          ///< when all are most together, gradients of 4 bytes
  CastWeights casts{};
  std::optional<Bytes> optimizer_state;  ///< of the optimizer a parameter; absent: unknown
  Bytes step_lists{0};                   ///< a parameter, that its step makes and frees
  HostStep host_step{};                  ///< of the optimizer, where a host takes its step
  std::string framework;                 ///< whose host times these are; "": as recorded
  double host_time = 1;                  ///< what its host takes of profiles/tables/hosts.yaml's
  /// A graph's executor launches each tensor's step once its gradient is there (TensorFlow, MXNet);
  /// else the thread that launches backward goes from tensor to tensor (torch.optim).
  bool executor = false;
  /// One executable has all of backward: no gradient is there before its end (XLA's clusters).
  bool one_executable = false;
  std::int64_t buffer_elements = 0;  ///< elements of non-trainable state (batch-norm statistics)
  int buffers = 0;                   ///< tensors that hold them
  Bytes buffer_bytes{0};             ///< in them; 0: unknown
  std::vector<LayerProfile> layers;  ///< forward order
  /// registration[id]: which tensor it is, counted along `layers`; empty: registered as they run.
  std::vector<int> registration;
  std::vector<TensorId> gradient_order;   ///< order in which gradients become ready
  std::map<std::string, double> overlap;  ///< kind -> slowdown (>= 1) under communication
  /// How far a model that made or changed the times may be off, in nine of ten of what it was held
  /// against. None: no model has touched them.
  RelativeError model_error;

  [[nodiscard]] bool is_shape() const { return gpu.empty(); }
  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
  /// What the layers and the optimizer do not explain: loss, zeroing of gradients, host gaps, and
  /// the wait for launches where those bound the iteration.
  /// Never negative.
  [[nodiscard]] Seconds unattributed() const;
  [[nodiscard]] LaunchTimes launches_of(const LayerProfile& layer) const;
  [[nodiscard]] Seconds launch_of_optimizer() const;
  /// Device time between backward and the iteration's end: unscale and the optimizer.
  [[nodiscard]] Seconds step() const { return unscale.value_or(Seconds{0}) + optimizer; }
  /// The least that an iteration takes: no layer starts before the host's thread has launched it,
  /// and that thread launches one after the other. At least the sum of the parts.
  [[nodiscard]] Seconds launch_bound(int micro_batches = 1) const;
  /// What neither the host's launches nor the device explain: both do nothing for the model.
  [[nodiscard]] Seconds between_iterations() const;
  /// An iteration of several micro-batches before one optimizer step; of one, `iteration` (or the
  /// launch_bound(), where that is longer).
  [[nodiscard]] Seconds iteration_of(int micro_batches) const;
  [[nodiscard]] std::int64_t parameter_count() const;
  /// Of all gradients of a micro-batch.
  [[nodiscard]] std::int64_t gradient_elements() const;
  [[nodiscard]] int tensor_count() const;
};

/// One gradient tensor as strategies see it.
struct TensorInfo {
  std::string name;
  std::int64_t elements = 0;
  int layer = 0;                      ///< index into ComputeProfile::layers
  std::vector<std::int64_t> shape{};  ///< empty: a vector of its elements
  bool shared = false;                ///< ParameterSpec::shared
  std::int64_t sparse_rows = 0;       ///< ParameterSpec::sparse_rows
};

/// The tensors of `profile` in registration order; the index is the TensorId.
[[nodiscard]] std::vector<TensorInfo> tensors_of(const ComputeProfile& profile);

/// The tensors whose gradients become ready with the backward of each layer (by layer, in order). A
/// tensor comes with its own layer, or later where `gradient_order` says so (a tied weight is
/// last); all with the first layer, where backward ends, of one_executable.
[[nodiscard]] std::vector<std::vector<TensorId>> gradients_by_layer(const ComputeProfile& profile);

/// The same profile with every time multiplied so that an iteration takes `iteration`.
/// Says so in `source` (kind "recorded" stays; the note tells the factor).
[[nodiscard]] ComputeProfile scaled_to(ComputeProfile profile, Seconds iteration);

/// Reverse registration order, the default gradient order of a profile that states none.
[[nodiscard]] std::vector<TensorId> reverse_registration_order(int tensors);

}  // namespace gradwire
