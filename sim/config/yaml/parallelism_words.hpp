#pragma once

#include <string>
#include <string_view>

namespace gradwire::config {

/// Why a key is refused that splits a model over GPUs, in the words of torchtitan
/// (`tensor_parallel_degree`), Megatron-LM (`pipeline-model-parallel-size`), DeepSpeed
/// (`autotp_size`, `ep_size`), vLLM's and NeMo's kin and in short (`tp`); or that says how many
/// GPUs have whole copies, which the cluster's number says. "" for any other key.
[[nodiscard]] std::string parallelism_refusal(std::string_view key);

}  // namespace gradwire::config
