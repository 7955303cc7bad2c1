#include "sim/config/profile/analytic_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/config/catalogue.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/data_files.hpp"
#include "sim/config/profile/analytic_checks.hpp"
#include "sim/config/profile/attention_warning.hpp"
#include "sim/config/profile/batch_norm_warning.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/profile/length_bins.hpp"
#include "sim/config/profile/model_catalogue.hpp"
#include "sim/config/profile/model_fields.hpp"
#include "sim/config/profile/other_batch.hpp"
#include "sim/config/profile/precision_warnings.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/models/derived_profile.hpp"
#include "sim/models/efficiencies.hpp"
#include "sim/models/frameworks.hpp"
#include "sim/models/optimizers.hpp"

namespace gradwire::config {
namespace {

constexpr int batch_most = 1'000'000;
constexpr Range<Ratio> host_times{
    Ratio{0}, {}, Ratio{1000}, "what hosts differ by is a small part of it"};

const std::vector<std::string>& dtypes() {
  static const std::vector<std::string> known = {"fp32", "tf32", "fp16", "bf16"};
  return known;
}

GpuSpec read_gpu_key(YamlMap& map) {
  const YamlValue& value =
      map.require_value("gpu", "a name that 'gradwire list gpus' shows, or a GPU file");
  return read_gpu(loaded_yaml(find_data(DataKind::gpu, value, "gpu")));
}

/// `dtype`, which the GPU must have itself: tf32 on a GPU without it would be fp32.
std::string read_dtype(YamlMap& map, const GpuSpec& gpu) {
  std::vector<std::string> known;
  std::ranges::copy_if(dtypes(), std::back_inserter(known),
                       [&](const std::string& dtype) { return gpu.peak_flops.contains(dtype); });
  auto dtype = map.require_choice("dtype", dtypes());
  if (std::ranges::find(known, dtype) == known.end()) {
    map.fail("dtype", fmt::format("'dtype' is '{}', which {} does not have; expected one of {}",
                                  dtype, gpu.name, joined_by(known, ", ")));
  }
  return dtype;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Fields<AnalyticOptions>& analytic_fields() {
  using Options = AnalyticOptions;
  static const Fields<Options> fields = {
      "analytic",
      "how a counted model runs",
      {word("optimizer", &Options::optimizer, names_of(shipped_hosts().optimizers),
            "whose step it is",
            "momentum of convolutional networks, adamw of vision and diffusion transformers and "
            "U-Nets, else adam"),
       choice(
           "fusion", &Options::fusion,
           {{"none", Fusion::none}, {"bn_relu", Fusion::bn_relu}, {"inductor", Fusion::inductor}},
           "which operators are one kernel; `inductor` fuses as compilers do", "the framework's"),
       choice(
           "memory_format", &Options::channels_last,
           {{"contiguous", false}, {"channels_last", true}}, "of convolutions' activations (NHWC)",
           "contiguous; of tf and tf-xla in fp16 on matrix units channels_last, as from 1.15 on"),
       choice("batchnorm_spatial_persistent", &Options::persistent_norms,
              {{"true", true}, {"false", false}},
              "of tf in fp16, channels last: which of cuDNN's batch norms it runs; false, which is "
              "TensorFlow's own default (TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT): several times "
              "as slow",
              "true, as tf_cnn_benchmarks, NVIDIA's examples and the official models have it"),
       choice("autocast", &Options::autocast, {{"true", true}, {"false", false}},
              "of PyTorch in fp16 and bf16: what is added up and layer norms stay in fp32; false: "
              "all is of the type (FSDP's mixed precision, Megatron)",
              "true; of decoders by shape false"),
       choice("sparse_embeddings", &Options::sparse_embeddings, {{"true", true}, {"false", false}},
              "gradients of tables that no other layer shares have but the rows that were looked "
              "up, and the optimizer steps those (nn.Embedding(sparse=True), TensorFlow's "
              "IndexedSlices)",
              "false; of lm_1b true"),
       choice(
           "sdpa", &Options::attention,
           {{"flash", AttentionKernels::flash},
            {"cudnn", AttentionKernels::cudnn},
            {"flash_1", AttentionKernels::flash_1},
            {"triton", AttentionKernels::triton}},
           "of PyTorch in fp16 and bf16: whose kernels fused attention is (SDPBackend); cudnn: as "
           "2.11 takes on Hopper; flash_1: FlashAttention 1, of 2.0 and 2.1; triton: that in "
           "Triton (MPT of 2023)",
           "flash"),
       word("framework", &Options::framework, names_of(shipped_hosts().frameworks),
            "whose thread launches the kernels: `gradwire list frameworks` has times and sources"),
       share("host_time", &Options::host_time,
             "of a framework's time to launch, what this host takes (`operators` of "
             "calibrate_node.sh measures it)",
             host_times, "the GPU's"),
       choice(
           "optimizer_step", &Options::optimizer_step,
           {{"loop", StepForm::loop}, {"foreach", StepForm::foreach}, {"fused", StepForm::fused}},
           "of PyTorch's optimizer; `loop` before 2.0"),
       choice("recompute", &Options::recompute,
              {{"none", Recompute::none},
               {"selective", Recompute::selective},
               {"full", Recompute::full}},
              "activations that backward makes again, of models with numbered blocks: `selective`, "
              "all but flash attention and every second product (torchtitan's `op`); `full`, each "
              "block keeps its input"),
       field("recompute_layers", &Options::recompute_layers,
             "so many blocks, from the first on, that `recompute` makes again (Megatron-LM's "
             "--recompute-method block with --recompute-num-layers; torchtitan's every k-th: that "
             "share of them)",
             between(1, layers_max), "all"),
       choice("use_reentrant", &Options::use_reentrant, {{"true", true}, {"false", false}},
              "of PyTorch: `recompute` runs blocks again as a whole (torch.utils.checkpoint before "
              "2.1, Megatron-LM, DeepSpeed); false: up to the last activation that backward needs"),
       choice(
           "fp8_recipe", &Options::fp8_recipe,
           {{"none", Fp8Recipe::none},
            {"delayed", Fp8Recipe::delayed},
            {"tensorwise", Fp8Recipe::tensorwise},
            {"blockwise", Fp8Recipe::blockwise},
            {"mxfp8", Fp8Recipe::mxfp8}},
           "of PyTorch in fp16 and bf16: linear layers of numbered blocks multiply in 8 bits, and "
           "how their operands are scaled (Megatron-LM's --fp8-recipe; torchao's Float8Linear is "
           "`tensorwise`)"),
       choice(
           "fused_loss", &Options::fused_loss, {{"true", true}, {"false", false}},
           "of PyTorch: cross entropy is one kernel each way, in the logits' type and place "
           "(flash-attn's, Megatron-LM's --cross-entropy-loss-fusion, MPT's fused_crossentropy)"),
       choice(
           "compiled_loss", &Options::compiled_loss, {{"true", true}, {"false", false}},
           "of pytorch-compile: the loss is compiled too, and keeps 8 bytes of a logit in place of "
           "12; false: the blocks alone, as torchtitan did until 2025"),
       choice("master_weights", &Options::master_weights, {{"true", true}, {"false", false}},
              "of PyTorch in fp16 and bf16: weights, gradients and the optimizer's state are in "
              "fp32; false: in `dtype` (`bf16-true`, `torch_dtype=bfloat16`)"),
       choice("gradient_clipping", &Options::gradient_clipping, {{"true", true}, {"false", false}},
              "of PyTorch: clip_grad_norm_ before the optimizer (DeepSpeed's gradient_clipping, "
              "Megatron-LM's --clip-grad); ranks that hold shards add their norms first"),
       choice("grad_scaler", &Options::grad_scaler, {{"true", true}, {"false", false}},
              "of PyTorch in fp16 with master weights: torch.amp.GradScaler, whose step waits for "
              "the device to read whether gradients are finite, and launches the optimizer then")}};
  return fields;
}

/// What such models are trained with, and nothing here prices.
void refuse_unmodelled(YamlMap& map) {
  for (const char* key : {"lora", "lora_rank", "peft", "qlora", "fp4_recipe"}) map.refuse(key);
  const YamlValue* recipe = map.find("fp8_recipe");
  if (recipe == nullptr || recipe->text != "nvfp4") return;
  map.fail("fp8_recipe",
           "not modelled yet: nvfp4, products in 4 bits; expected a recipe of 8 bits");
}

/// Another GPU in the recording's type where it has it, then another type.
ComputeProfile with_gpu(ComputeProfile profile, const GpuSpec& from, const GpuSpec& to,
                        const std::string& dtype) {
  if (supports(to, profile.dtype)) {
    return derived_for_dtype(derived_for_gpu(std::move(profile), from, to), to, dtype);
  }
  return derived_for_gpu(derived_for_dtype(std::move(profile), from, dtype), from, to);
}

/// The shipped recording profiles/MODEL/GPU_DTYPE_bBATCH.yaml of what the mapping asks for, of its
/// batch or of the next smaller one, if that is at least half of it or a larger one ships too; a
/// larger one's host alone says little of a smaller batch. nullopt where there is none, or the
/// mapping says more than its name does.
std::optional<std::string> recorded_name(YamlMap& map) {
  for (const auto& keys : {model_fields().keys(), analytic_fields().keys()}) {
    const bool says_more =
        std::ranges::any_of(keys, [&](const KeyInfo& key) { return map.has(key.name); });
    if (says_more) return std::nullopt;
  }
  const auto text = [&](const char* key) {
    const YamlValue* found = map.find(key);
    return found != nullptr ? found->text : std::string();
  };
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() ? value : 0;
  };
  const int batch = number(text("batch_per_gpu"));
  const std::string prefix = fmt::format("{}/{}_{}_b", text("model"), text("gpu"), text("dtype"));
  int nearest = 0;
  bool between = false;  // two recordings
  for (const std::string& name : data_names(DataKind::profile)) {
    if (!name.starts_with(prefix)) continue;
    const int recorded = number(std::string_view(name).substr(prefix.size()));
    if (recorded <= batch) nearest = std::max(nearest, recorded);
    between = between || recorded > batch;
  }
  if (nearest == 0 || (!between && 2 * nearest < batch)) return std::nullopt;
  return prefix + std::to_string(nearest);
}

/// What a shape does not state: GPU, batch, type, and (read by the caller) the iteration's time.
ComputeProfile read_shape(YamlMap& map, ComputeProfile profile) {
  const GpuSpec gpu = read_gpu_key(map);
  profile.gpu = gpu.name;
  profile.batch_per_gpu = map.require<int>("batch_per_gpu", between(1, batch_most));
  profile.dtype = read_dtype(map, gpu);
  map.require_value("iteration_time",
                    "what an iteration on one GPU takes: the file gives only ratios of times");
  return profile;
}

/// Says of what is counted what was assumed of it; nothing where the time is given.
void warn_of_counted(const std::optional<Warning>& told, const YamlMap& map,
                     std::vector<Warning>& warnings) {
  if (told && !map.has("iteration_time")) warnings.push_back(*told);
}

void warn_if_derived(const ComputeProfile& profile, std::vector<Warning>& warnings) {
  if (profile.source.kind == "derived") {
    warnings.push_back({"derived-profile", profile.source.notes});
  }
}

/// A default where there is a file.
constexpr const char* of_file = "required with model; the file's";

}  // namespace

std::vector<KeyInfo> profile_keys() {
  std::vector<KeyInfo> keys = {
      {"file", "this or model", "a profile: `gradwire list profiles`, or a path"},
      {"model", "this or file", "`gradwire list models`, or a path to a model file"},
      {"gpu", of_file,
       "`gradwire list gpus`; beside `file` other than the recording's: derived for it"},
      {"batch_per_gpu", of_file,
       "samples a GPU in a (micro-)batch; beside `file` another one: derived",
       value_info(between(1, batch_most))},
      {"dtype", of_file,
       "one that the GPU has; fp16 and bf16 are mixed precision; beside `file` another one: "
       "derived",
       among(dtypes())}};
  for (const auto& more : {model_fields().keys(), analytic_fields().keys()}) {
    for (KeyInfo key : more) {
      key.doc = "with `model`: " + key.doc;
      if (key.name == "sequence_length") {
        key.doc += "; or {128: 0.4, 512: 0.6}, how many batches have which length";
        key.value = either(key.value, length_bins_info());
      }
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

AnalyticJob read_analytic_job(YamlMap& map) {
  refuse_unmodelled(map);
  const auto batch = map.require<int>("batch_per_gpu", between(1, batch_most));
  GpuSpec gpu = read_gpu_key(map);
  std::string dtype = read_dtype(map, gpu);
  if (!gpu.efficiency.contains(dtype)) {
    map.fail("dtype", fmt::format("GPU '{}' has no efficiencies for '{}'; expected a recorded "
                                  "profile, or a type that its 'efficiencies' have",
                                  gpu.name, dtype));
  }
  AnalyticOptions options;
  analytic_fields().read(map, options);
  ModelDescription model = read_model(map);
  check_options(map, options, model);
  check_precision(map, options, gpu, dtype);
  return {std::move(model), std::move(gpu), batch, std::move(dtype), options};
}

ComputeProfile read_model_profile(YamlMap& map, std::vector<Warning>& warnings) {
  if (const auto name = recorded_name(map)) {
    ComputeProfile recorded = read_once<read_profile>(data_file(DataKind::profile, *name).string());
    const GpuSpec gpu = shipped_gpu(recorded.gpu, {});
    warn_of_counted(fp32_warning(gpu, recorded.dtype), map, warnings);
    recorded = with_batch(std::move(recorded), gpu, map.require<int>("batch_per_gpu"));
    warn_if_derived(recorded, warnings);
    const auto& models = model_catalogue();
    const auto entry = std::ranges::find(models, recorded.model, &ModelEntry::name);
    if (entry != models.end()) add_memory(shipped_hosts(), recorded, entry->make({}));
    return recorded;
  }
  const AnalyticJob job = read_analytic_job(map);
  ComputeProfile profile =
      analytic_profile(shipped_hosts(), job.model, job.gpu, job.batch, job.dtype, job.options);
  warn_of_counted(fp32_warning(job.gpu, job.dtype), map, warnings);
  warn_of_counted(half_precision_warning(job, profile), map, warnings);
  warn_of_counted(attention_warning(job, with_fused_attention(map), profile), map, warnings);
  warn_of_counted(batch_norm_warning(job, profile), map, warnings);
  const std::string times =
      map.has("iteration_time")
          ? "shares of 'iteration_time' that are counted from the model"
          : fmt::format(
                "counted from the model; of the rates that 'validate single_gpu compute' holds, "
                "nine of ten took up to {:.0f} % less or {:.0f} % more time",
                100 * profile.model_error.low, 100 * profile.model_error.high);
  warnings.push_back(
      {"analytic-profile",
       fmt::format("no recording of {} on {}, {}, batch {}, as asked for: its times are {}",
                   profile.model, profile.gpu, profile.dtype, profile.batch_per_gpu, times)});
  return profile;
}

ComputeProfile read_file_profile(YamlMap& map, std::vector<Warning>& warnings) {
  const YamlValue& file = map.require_value("file", "a name that 'gradwire list profiles' shows");
  ComputeProfile profile = read_once<read_profile>(find_data(DataKind::profile, file, "file"));
  if (profile.is_shape()) return read_shape(map, std::move(profile));
  if (!map.has("gpu") && !map.has("batch_per_gpu") && !map.has("dtype")) return profile;
  const GpuSpec from = shipped_gpu(profile.gpu, file.where);
  const GpuSpec to = map.has("gpu") ? read_gpu_key(map) : from;
  const std::string dtype = map.has("dtype") ? read_dtype(map, to) : profile.dtype;
  if (!supports(from, profile.dtype) || !supports(to, dtype) ||
      !(supports(to, profile.dtype) || supports(from, dtype))) {
    map.fail(map.has("dtype") ? "dtype" : "gpu",
             fmt::format("a profile of {} on {} cannot be derived for {} on {}: expected a type "
                         "that both have a peak for",
                         profile.dtype, from.name, dtype, to.name));
  }
  const int batch = map.value_or("batch_per_gpu", profile.batch_per_gpu, at_least(1));
  profile = with_batch(std::move(profile), from, batch);
  profile = with_gpu(std::move(profile), from, to, dtype);
  warn_if_derived(profile, warnings);
  return profile;
}

}  // namespace gradwire::config
