#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "sim/core/compute_profile.hpp"
#include "sim/models/model.hpp"

namespace gradwire {

/// Which activations of a model's numbered blocks backward makes again.
/// - none: all that backward needs are kept.
/// - selective: the results of flash attention and of every second product of a block, from its
///   first on, are kept, the rest is made again (torchtitan's `selective` with option `op`,
///   torchtitan/models/llama3/infra/parallelize.py: each block's context counts for itself).
///   Attention in several kernels is made again.
/// - full: each block keeps its input alone (torch.utils.checkpoint around a block).
enum class Recompute : std::uint8_t { none, selective, full };

/// What backward makes again, and in how many of the numbered blocks, from the first on.
struct Recomputation {
  Recompute what = Recompute::none;
  int blocks = std::numeric_limits<int>::max();
};

/// Numbered blocks of several layers; 0 where the model has none.
[[nodiscard]] int block_count(const ModelDescription& model);

/// The model whose backward makes again what is not kept (ModelLayer::made_again).
/// @param early_stop  up to the last activation that backward needs, so without the block's last
///                    product, where no dropout or norm follows (torch.utils.checkpoint with
///                    use_reentrant=False, from PyTorch 2.1 on: set_checkpoint_early_stop)
/// REQUIRES: `recompute.what` is none, or block_count(model) > 0.
[[nodiscard]] ModelDescription recomputed(ModelDescription model, Recomputation recompute,
                                          bool early_stop);

/// Elements of activations, for one sample, that are there when backward begins. The logits are
/// apart.
struct KeptActivations {
  double elements = 0;
  double again = 0;  ///< what the largest block that is made again has beyond what it keeps
  double bytes = 0;  ///< more, see ModelLayer::kept_bytes; of layers that are not made again
  double autocast_bytes = 0;  ///< more under autocast
  double fp32_bytes = 0;      ///< of `bytes`, what is of the model's type without autocast
  double logits = 0;
  double cast_logits = 0;  ///< of them, those that no model makes fp32 of (ModelLayer::upcast)
  /// A layer of the model.
  struct Layer {
    double kept = 0;   ///< of `elements`
    double again = 0;  ///< what is there beside that when its block has been made again
    int block = -1;    ///< that is made again; -1: of none
  };
  std::vector<Layer> by_layer{};
};
[[nodiscard]] KeptActivations kept_activations(const ModelDescription& model,
                                               Recomputation recompute);

/// How a loss over a vocabulary runs.
/// - operators: each by itself.
/// - compiled: by TorchInductor, which keeps the logits as they are and makes their gradient in
///   fp32 and its cast: 8 bytes of a logit in 2 (Wijmans et al., arXiv 2411.09009, table 1,
///   torch.compile: 16,000 MB of 8192 x 256,000).
/// - fused: in one kernel each way, see with_fused_loss().
enum class LossForm : std::uint8_t { operators, compiled, fused };

/// Bytes of activations and of logits. `dtype` and `autocast` as in analytic_profile. REQUIRES:
/// batch >= 1.
///
/// Of the logits the most is there in the backward of torch.nn.functional.cross_entropy: the
/// logarithm of their softmax, which forward keeps, and as long as that its own gradient and the
/// logits' (aten/src/ATen/native: nll_loss_backward fills a tensor of zeros,
/// _log_softmax_backward_data makes another), in fp32; the model's own are gone, as where the loss
/// alone is left of its output (transformers' Trainer.compute_loss; torchtitan deletes them). Where
/// autocast gives logits in 2 bytes to the loss as they are (BERT's, T5's; not where the model
/// makes fp32 of them, ModelLayer::upcast), it asks log_softmax for fp32
/// (aten/src/ATen/autocast_mode.h, fp32_set_opt_dtype), whose kernel reads 2 bytes and writes 4,
/// and backward writes the logits' gradient in 2 (aten/src/ATen/native/SoftMax.cpp, half_to_float;
/// of fp16 there, of bf16 in PyTorch 2.11, where both take as much: memory_h100-68 and -114). Of a
/// fused loss there is nothing but these, of a compiled one see LossForm. A block is made again
/// when they are gone: of both the larger counts, the other is 0.
///
/// A layer's activations, and autocast's copies of its weights, are gone when its backward is done,
/// and its gradients are there: networks that end in wide products have these beside nearly all
/// activations.
struct ActivationMemory {
  double activations = 0;
  double logits = 0;
  double forward_end = 0;    ///< of both, when forward ends
  BackwardMoment fullest{};  ///< of activations, casts and gradients of 4 bytes
  CastWeights casts{};
};
[[nodiscard]] ActivationMemory activation_memory(const ModelDescription& model, int batch,
                                                 std::string_view dtype, Recomputation recompute,
                                                 bool autocast = false,
                                                 LossForm loss = LossForm::operators);

}  // namespace gradwire
