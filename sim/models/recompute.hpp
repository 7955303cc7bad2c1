#pragma once

#include <cstdint>
#include <string_view>

#include "sim/models/model.hpp"

namespace gradwire {

/// Which activations of a model's numbered blocks backward makes again.
/// - none: all that backward needs are kept.
/// - selective: the results of flash attention and of every second product are kept, the rest is
///   made again (torchtitan's `selective` with option `op`, torchtitan/models/llama3/
///   infra/parallelize.py). Attention in several kernels is made again.
/// - full: each block keeps its input alone (torch.utils.checkpoint around a block).
enum class Recompute : std::uint8_t { none, selective, full };

/// Whether the model has numbered blocks of several layers.
[[nodiscard]] bool has_blocks(const ModelDescription& model);

/// The model whose backward makes again what is not kept: a layer's forward work is added to its
/// backward. REQUIRES: `recompute` is none, or has_blocks(model).
[[nodiscard]] ModelDescription recomputed(ModelDescription model, Recompute recompute);

/// Elements of activations, for one sample, that are there when backward begins, and those of the
/// one block that is made again first. Of the loss: the logits once in the activations' type and
/// twice in fp32 (their copy and its gradient; torch.nn.functional.cross_entropy under mixed
/// precision).
struct KeptActivations {
  double elements = 0;  ///< in the activations' type
  double of_loss = 0;   ///< in fp32
};
[[nodiscard]] KeptActivations kept_activations(const ModelDescription& model, Recompute recompute);

/// Their bytes. `dtype` as in analytic_profile. REQUIRES: batch >= 1.
[[nodiscard]] double activation_memory(const ModelDescription& model, int batch,
                                       std::string_view dtype, Recompute recompute);

}  // namespace gradwire
