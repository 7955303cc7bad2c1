#include "sim/config/profile/analytic_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/frameworks.hpp"

namespace gradwire::config {

void check_precision(const YamlMap& map, const AnalyticOptions& options, const GpuSpec& gpu,
                     const std::string& dtype) {
  const bool half = dtype == "fp16" || dtype == "bf16";
  for (const char* key : {"fp8_recipe", "master_weights"}) {
    if (!map.has(key) || half) continue;
    map.fail(key, fmt::format("'{}' beside 'dtype' {}; expected fp16 or bf16", key, dtype));
  }
  if (options.grad_scaler && (dtype != "fp16" || !options.master_weights)) {
    map.fail(
        "grad_scaler",
        fmt::format("'grad_scaler' beside {}; expected fp16 whose gradients are in fp32",
                    dtype != "fp16" ? fmt::format("'dtype' {}", dtype) : "'master_weights' false"));
  }
  if (options.fp8_recipe != Fp8Recipe::none && !gpu.peak_flops.contains("fp8")) {
    map.fail("fp8_recipe", fmt::format("{} multiplies nothing in 8 bits (its 'peak_flops' has no "
                                       "fp8); expected none",
                                       gpu.name));
  }
}

void check_options(const YamlMap& map, const AnalyticOptions& options,
                   const ModelDescription& model) {
  for (const char* key : {"optimizer_step", "autocast", "sdpa", "use_reentrant", "fp8_recipe",
                          "fused_loss", "master_weights", "grad_scaler", "gradient_clipping"}) {
    if (!map.has(key) || has_optimizer_steps(*shipped_hosts().find_framework(options.framework)))
      continue;
    map.fail(key, fmt::format("'{}' beside framework '{}'; expected pytorch-eager or "
                              "pytorch-compile, which have it",
                              key, options.framework));
  }
  if (options.persistent_norms && options.framework != "tf") {
    map.fail("batchnorm_spatial_persistent",
             fmt::format("'batchnorm_spatial_persistent' beside framework '{}'; expected tf, which "
                         "has it",
                         options.framework));
  }
  const bool has_tables = std::ranges::any_of(model.layers, [](const ModelLayer& layer) {
    return layer.looked_up.of_sample > 0 && !layer.parameters.front().shared;
  });
  if (map.has("sparse_embeddings") && !has_tables) {
    map.fail("sparse_embeddings",
             fmt::format("'sparse_embeddings' beside model {}, which has no table of its own that "
                         "it looks up; expected no such key",
                         model.name));
  }
  if (map.has("compiled_loss") &&
      (!compiles(*shipped_hosts().find_framework(options.framework)) || options.fused_loss)) {
    map.fail("compiled_loss",
             "'compiled_loss' goes with framework pytorch-compile without "
             "'fused_loss'; expected no such key");
  }
  const auto needs_blocks = [&](const char* key, const char* what) {
    map.fail(key,
             fmt::format("'{}' beside model {}, which has no numbered blocks that could be {}; "
                         "expected none",
                         key, model.name, what));
  };
  if (options.recompute_layers && options.recompute == Recompute::none) {
    map.fail("recompute_layers",
             "'recompute_layers' without anything that is made again; expected 'recompute' "
             "selective or full beside it");
  }
  if (const int blocks = block_count(model); blocks > 0) {
    if (options.recompute_layers.value_or(0) <= blocks) return;
    map.fail("recompute_layers", fmt::format("'recompute_layers' is {}; expected at most the {} "
                                             "blocks of {}",
                                             *options.recompute_layers, blocks, model.name));
  }
  if (options.recompute != Recompute::none) needs_blocks("recompute", "made again");
  if (options.fp8_recipe != Fp8Recipe::none) needs_blocks("fp8_recipe", "in 8 bits");
}

}  // namespace gradwire::config
