#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/models/fusion.hpp"
#include "sim/models/model.hpp"
#include "sim/models/optimizers.hpp"

namespace gradwire {

/// What the thread that launches kernels takes for an operator of one class.
struct OperatorHost {
  std::string work;  ///< see operator_class(); "": every other
  Seconds forward;   ///< Python's module, dispatch, its first kernel
  Seconds backward;  ///< the node of autograd, its first kernel
  Seconds further;   ///< each further kernel
};

/// What it takes for a cast to fp16 or bf16 in forward, and for its gradient's back in backward.
struct CastHost {
  Seconds forward;
  Seconds backward;
};

/// What it takes more where a block is run again in backward (torch.utils.checkpoint with
/// use_reentrant=False): once a block, and for each of its operators, whose saved tensors pass
/// through hooks. Backward's is beside the launches of the block's forward pass.
struct CheckpointHost {
  LaunchTimes block;
  LaunchTimes operators;
};

/// What shapes the launches of a model's layers, beside the layers.
struct HostSetting {
  bool batch_norms = false;   ///< the model's norms are of batches (they count their batches)
  bool half = false;          ///< products run in fp16 or bf16, their weights are cast
  bool sums_in_fp32 = false;  ///< as KernelSetting's: inputs of products are cast too
};

/// A framework as its launching thread spends its time: what bounds small batches on fast GPUs.
struct Framework {
  std::string name;
  std::string summary;
  Fusion fusion = Fusion::none;         ///< what it merges unless told otherwise
  std::vector<OperatorHost> operators;  ///< the last one is for every class not named
  Seconds gradient{};                   ///< a gradient tensor: its accumulation and hook
  CastHost cast{};                      ///< of a weight, or of a product's input
  Seconds update{};  ///< a tensor's update; of PyTorch, whose optimizers have their own times: 0
  std::string source;
  /// Batch norms of NHWC tensors in half precision read them once: cuDNN's
  /// CUDNN_BATCHNORM_SPATIAL_PERSISTENT.
  bool persistent_norms = false;
  /// Puts convolutions of fp16 channels last for matrix units, unless told otherwise.
  bool fp16_channels_last = false;
  bool primitives = false;      ///< runs models of tokens by_primitives()
  bool one_executable = false;  ///< see ComputeProfile
  CheckpointHost checkpoint{};
};

/// What is known of hosts: config reads profiles/tables/hosts.yaml, which has the sources.
struct HostTables {
  std::vector<Framework> frameworks;      ///< pytorch-eager, the default, first
  std::vector<OptimizerKind> optimizers;  ///< sgd, momentum, adam, adamw, lamb
  Seconds clipping;  ///< of a tensor, where eager PyTorch clips the gradients by their norm

  // nullptr when there is none of that name.
  [[nodiscard]] const Framework* find_framework(std::string_view name) const;
  [[nodiscard]] const OptimizerKind* find_optimizer(std::string_view name) const;
};

/// Whether the optimizer is PyTorch's, which runs as a loop, foreach or fused.
[[nodiscard]] bool has_optimizer_steps(const Framework& framework);

/// Whether it is torch.compile.
[[nodiscard]] bool compiles(const Framework& framework);

/// Host times of a layer: its operators with their kernels, the hooks of its gradients, and the
/// casts of a product's weights and input. A layer that launches nothing has only the hooks.
[[nodiscard]] LaunchTimes launches_of(const Framework& framework, const ModelLayer& layer,
                                      const HostSetting& setting);

/// Host time of the optimizer's step over so many tensors.
[[nodiscard]] Seconds launch_of_optimizer(const Framework& framework,
                                          const OptimizerKind& optimizer, StepForm step,
                                          int tensors);

}  // namespace gradwire
