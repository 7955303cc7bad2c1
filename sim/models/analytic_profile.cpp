#include "sim/models/analytic_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "sim/core/block_names.hpp"
#include "sim/models/mixed_precision.hpp"
#include "sim/models/primitives.hpp"
#include "sim/models/products.hpp"

namespace gradwire {
namespace {

/// Time in which the GPU waits in an iteration (loss on the host, zeroing, next batch): iteration
/// less busy time of the V100 recording of ResNet-50, 93.867 - 93.216 ms.
constexpr Seconds host_gap{0.65e-3};

const std::string fp8_dtype = "fp8";

double attention_slowness(const KernelSetting& setting, Direction direction) {
  const KernelConstants& kernels = setting.gpu.kernels;
  if (setting.attention == AttentionKernels::flash_1) return kernels.flash_1_slowness;
  if (setting.attention != AttentionKernels::triton) return 1;
  return direction == Direction::forward ? kernels.triton_forward_slowness
                                         : kernels.triton_backward_slowness;
}

/// An element read as fp32 and written in half precision, or the other way.
constexpr double cast_bytes = 6;

/// @param setting  its moved_before becomes that of the next layer.
Seconds layer_time(const ModelLayer& layer, KernelSetting& setting, Direction direction) {
  const KernelWork asked = kernel_work(layer, setting, direction);
  if (asked.kernels == 0 && asked.bytes <= 0) return Seconds{0};
  const auto time_in = [&](const std::string& dtype) {
    KernelSetting taken = setting;
    taken.dtype = dtype;
    return kernel_time(kernel_work(layer, taken, direction), setting.gpu, dtype, direction);
  };
  Seconds time = layer.fp8 ? kernel_time(asked, setting.gpu, fp8_dtype, direction)
                           : fastest_permitted(asked.work_class, setting.gpu, setting.dtype,
                                               direction, time_in);
  if (layer.fused_attention) time = attention_slowness(setting, direction) * time;
  if (setting.sums_in_fp32 && setting.token_norms && layer.casts > 0) {
    const KernelWork cast = {
        .work_class = "act", .bytes = cast_bytes * setting.batch * layer.casts, .kernels = 1};
    time += kernel_time(cast, setting.gpu, setting.dtype, direction);
  }
  setting.moved_before = asked.bytes;
  return time;
}

double flops_made_again(const ModelDescription& model) {
  double flops = 0;
  for (const ModelLayer& layer : model.layers) flops += layer.made_again ? layer.forward.flops : 0;
  return flops;
}

/// Whether most of its work is convolutions (a vision transformer has one of hundred layers).
bool is_convolutional(const ModelDescription& model) {
  double convolutions = 0;
  double all = 0;
  for (const ModelLayer& layer : model.layers) {
    all += layer.forward.flops;
    if (layer.convolution) convolutions += layer.forward.flops;
  }
  return convolutions > all / 2;
}

/// With what most are trained: ResNet (He et al., arXiv 1512.03385, section 3.4) and its kin with
/// momentum; ViT, Swin and ConvNeXt (torchvision's references/classification), DiT (arXiv
/// 2212.09748, section 4) and Stable Diffusion (latent-diffusion's ddpm.py) with AdamW.
std::string default_optimizer(const ModelDescription& model) {
  const auto has = [&](const auto& what) { return std::ranges::any_of(model.layers, what); };
  if (!has([](const ModelLayer& layer) { return layer.convolution.has_value(); })) return "adam";
  const bool attends =
      has([](const ModelLayer& layer) { return layer.fused_attention.has_value(); });
  return is_convolutional(model) && !attends ? "momentum" : "adamw";
}

std::string notes_of(const ModelDescription& model, const Framework& framework,
                     const std::string& optimizer, Fusion fusion) {
  const char* merged = fusion == Fusion::none      ? "none"
                       : fusion == Fusion::bn_relu ? "bn_relu"
                                                   : "inductor";
  return fmt::format("counted from {}; optimizer {}, fusion {}, host of {}", model.source,
                     optimizer, merged, framework.name);
}

/// A model numbers its tensors as they run, a profile as they are registered.
void set_orders(ComputeProfile& profile, const ModelDescription& model) {
  profile.registration = model.registration_order;
  std::vector<TensorId> id_of(profile.registration.size());
  for (std::size_t id = 0; id < id_of.size(); ++id) {
    id_of[static_cast<std::size_t>(profile.registration[id])] = static_cast<TensorId>(id);
  }
  for (const TensorId position : model.gradient_order) {
    profile.gradient_order.push_back(id_of[static_cast<std::size_t>(position)]);
  }
}

void set_activations(ComputeProfile& profile, const ActivationMemory& kept) {
  profile.activations = Bytes{std::llround(kept.activations)};
  profile.logits = Bytes{std::llround(kept.logits)};
  profile.forward_end = Bytes{std::llround(kept.forward_end)};
  profile.fullest = kept.fullest;
  profile.casts = kept.casts;
}

/// The step, and the casts of weights: of mixed precision, and to 8 bits.
void set_optimizer(ComputeProfile& profile, const Framework& framework,
                   const ModelDescription& running, const OptimizerKind& step,
                   const KernelSetting& setting, const AnalyticOptions& options) {
  const bool half = activation_bytes(setting.dtype) < activation_bytes("fp32");
  const bool masters = !half || options.master_weights;
  const double size = masters ? 1 : activation_bytes(setting.dtype) / activation_bytes("fp32");
  const double stepped =
      framework.primitives ? step.graph_bytes : bytes_of(step, options.optimizer_step);
  const double cast = half && masters ? cast_bytes_per_parameter : 0;
  const auto parameters = static_cast<double>(running.parameter_count());
  const auto gradients = static_cast<double>(profile.gradient_elements());
  const double bytes =
      size * (stepped + (options.gradient_clipping ? clipping_bytes : 0)) * gradients +
      cast * parameters + fp8_cast_bytes_per_parameter * fp8_weights(running);
  const GpuSpec& gpu = setting.gpu;
  if (options.grad_scaler) {
    profile.unscale = Seconds{unscale_bytes_per_parameter * gradients /
                              (gpu.memory_bandwidth.count() * gpu.memory_efficiency)};
  }
  profile.fp8 = options.fp8_recipe != Fp8Recipe::none;
  profile.master_weights = masters;
  profile.optimizer_bytes_per_parameter = Bytes{std::llround(size * stepped)};
  profile.optimizer = Seconds{bytes / (gpu.memory_bandwidth.count() * gpu.memory_efficiency)};
  profile.optimizer_state = Bytes{std::llround(size * step.state_bytes)};
  profile.host_step = step.on_host;
  profile.clips_gradients = options.gradient_clipping;
  if (has_optimizer_steps(framework) && options.optimizer_step == StepForm::foreach) {
    profile.step_lists = Bytes{std::llround(size * step.list_bytes)};
  }
}

/// What the framework's thread takes to launch all that, and the iteration that follows.
void add_host(const HostTables& hosts, ComputeProfile& profile, const ModelDescription& running,
              const Framework& framework, const OptimizerKind& optimizer,
              const AnalyticOptions& options, const KernelSetting& setting) {
  const double host_time = options.host_time.value_or(setting.gpu.host_time);
  const HostSetting host = {
      .batch_norms = running.has_statistics,
      .half = activation_bytes(setting.dtype) < activation_bytes("fp32"),
      .sums_in_fp32 = setting.sums_in_fp32,
  };
  const CheckpointHost checkpoint = options.use_reentrant ? CheckpointHost{} : framework.checkpoint;
  std::string_view block;
  for (std::size_t i = 0; i < running.layers.size(); ++i) {
    const ModelLayer& layer = running.layers[i];
    LaunchTimes launches = launches_of(framework, layer, host);
    profile.layers[i].made_again = layer.made_again;
    if (layer.made_again && layer.forward.kernels > 0) {
      launches.backward += launches.forward + checkpoint.operators.backward;
      launches.forward += checkpoint.operators.forward;
      const std::string_view own = block_of(layer.name, BlockNumbers::own_part);
      if (own != block) {
        launches.backward += checkpoint.block.backward;
        launches.forward += checkpoint.block.forward;
      }
      block = own;
    }
    profile.layers[i].launches =
        LaunchTimes{host_time * launches.forward, host_time * launches.backward};
  }
  profile.framework = framework.name;
  profile.host_time = host_time;
  profile.executor = !has_optimizer_steps(framework);
  profile.one_executable = framework.one_executable;
  profile.optimizer_launch =
      host_time *
      launch_of_optimizer(framework, optimizer, options.optimizer_step, profile.tensor_count());
  if (options.gradient_clipping) {
    *profile.optimizer_launch +=
        host_time * (static_cast<double>(profile.tensor_count()) * hosts.clipping);
  }
  profile.iteration = host_gap + profile.launch_bound();
}

/// Of all layers, in the order in which the passes run them.
void set_times(ComputeProfile& profile, const ModelDescription& running, KernelSetting setting) {
  const std::size_t layers = running.layers.size();
  for (std::size_t i = 0; i < layers; ++i) {
    profile.layers[i].forward = layer_time(running.layers[i], setting, Direction::forward);
  }
  for (std::size_t i = layers; i-- > 0;) {
    LayerProfile& times = profile.layers[i];
    times.backward = layer_time(running.layers[i], setting, Direction::backward);
    if (running.layers[i].made_again) times.backward += times.forward;
  }
}

Recomputation recomputation(const AnalyticOptions& options) {
  return {options.recompute, options.recompute_layers.value_or(Recomputation{}.blocks)};
}

/// Of halves, channels last.
BatchNorms norms_of(const Framework& framework, const AnalyticOptions& options) {
  if (options.persistent_norms.value_or(framework.persistent_norms)) return BatchNorms::persistent;
  return options.persistent_norms ? BatchNorms::spatial : BatchNorms::plain;
}

}  // namespace

bool native_norms(const ModelDescription& model, const Framework& framework,
                  const std::string& dtype) {
  return model.has_statistics && dtype == "bf16" && framework.name == AnalyticOptions{}.framework;
}

KernelSetting kernel_setting(const HostTables& hosts, const ModelDescription& running,
                             const GpuSpec& gpu, int batch, const std::string& dtype,
                             const AnalyticOptions& options) {
  const Framework& framework = *hosts.find_framework(options.framework);
  const Fusion fusion = options.fusion.value_or(framework.fusion);
  const bool half = activation_bytes(dtype) < activation_bytes("fp32");
  const bool channels_last = options.channels_last.value_or(
      framework.fp16_channels_last && dtype == "fp16" && has_matrix_units(gpu, dtype));
  const bool native = native_norms(running, framework, dtype);
  return {.gpu = gpu,
          .batch = batch,
          .dtype = dtype,
          .channels_last = channels_last,
          .attention = half ? options.attention : AttentionKernels::flash,
          .token_norms = !running.has_statistics && fusion == Fusion::none,
          .sums_in_fp32 = half && !running.has_statistics && has_optimizer_steps(framework) &&
                          options.autocast.value_or(running.autocast && options.master_weights),
          .padded_products = fusion == Fusion::inductor,
          .native_norms = native,
          .batch_norms =
              channels_last && half && !native ? norms_of(framework, options) : BatchNorms::plain,
          .sparse_embeddings = running.sparse_embeddings};
}

ComputeProfile untimed_profile(const ModelDescription& model, int batch) {
  ComputeProfile profile;
  profile.model = model.name;
  profile.batch_per_gpu = batch;
  for (const ModelLayer& layer : model.layers) {
    profile.layers.push_back({.name = layer.name,
                              .kind = layer.kind,
                              .forward = {},
                              .backward = {},
                              .flops = batch * layer.forward.flops,
                              .parameters = model.parameters_of(layer, batch)});
  }
  set_orders(profile, model);
  profile.buffers = model.buffers;
  profile.buffer_elements = model.buffer_elements;
  profile.buffer_bytes = model.buffer_bytes;
  return profile;
}

void add_memory(const HostTables& hosts, ComputeProfile& recorded, const ModelDescription& model) {
  if (!is_convolutional(model) || model.parameter_count() != recorded.parameter_count()) return;
  const OptimizerKind& optimizer = *hosts.find_optimizer(default_optimizer(model));
  recorded.optimizer_state = Bytes{optimizer.state_bytes};
  recorded.host_step = optimizer.on_host;
  set_activations(recorded, activation_memory(model, recorded.batch_per_gpu, recorded.dtype,
                                              {Recompute::none}));
}

RelativeError analytic_error(const ProfileErrors& errors, const ModelDescription& model,
                             const std::string& dtype) {
  const bool full_precision = activation_bytes(dtype) == activation_bytes("fp32");
  return full_precision && is_convolutional(model) ? errors.convolutions : errors.others;
}

namespace {

LossForm loss_form(const AnalyticOptions& options, const Framework& framework) {
  if (options.fused_loss) return LossForm::fused;
  return options.compiled_loss && compiles(framework) ? LossForm::compiled : LossForm::operators;
}

}  // namespace

ComputeProfile analytic_profile(const HostTables& hosts, ModelDescription model, const GpuSpec& gpu,
                                int batch, const std::string& dtype,
                                const AnalyticOptions& options) {
  assert(batch >= 1 && supports(gpu, dtype));
  assert(gpu.efficiency.contains(executed_dtype(gpu, dtype)));
  const Framework* framework = hosts.find_framework(options.framework);
  assert(framework != nullptr);
  model.sparse_embeddings = options.sparse_embeddings.value_or(model.sparse_embeddings);
  const Fusion fusion = options.fusion.value_or(framework->fusion);
  const ModelDescription operators = framework->primitives ? by_primitives(model)
                                     : options.fused_loss  ? with_fused_loss(model)
                                                           : model;
  const ModelDescription running =
      recomputed(in_fp8(fused(operators, fusion), options.fp8_recipe), recomputation(options),
                 has_optimizer_steps(*framework) && !options.use_reentrant);
  const std::string optimizer =
      options.optimizer.empty() ? default_optimizer(model) : options.optimizer;
  ComputeProfile profile = untimed_profile(running, batch);
  profile.gpu = gpu.name;
  profile.dtype = dtype;
  profile.source = {.kind = "analytic",
                    .tool = "Gradwire",
                    .file = "",
                    .date = "",
                    .notes = notes_of(model, *framework, optimizer, fusion)};
  const KernelSetting setting = kernel_setting(hosts, running, gpu, batch, dtype, options);
  set_times(profile, running, setting);
  const OptimizerKind& step = *hosts.find_optimizer(optimizer);
  set_optimizer(profile, *framework, running, step, setting, options);
  profile.tokens_per_sample = model.tokens;
  set_activations(profile,
                  activation_memory(fused(model, fusion), batch, dtype, recomputation(options),
                                    setting.sums_in_fp32, loss_form(options, *framework)));
  profile.recomputed_flops = batch * flops_made_again(running);
  profile.gpu_busy = profile.forward() + profile.backward() + profile.step();
  add_host(hosts, profile, running, *framework, step, options, setting);
  profile.model_error = analytic_error(gpu.errors, model, dtype);
  return profile;
}

}  // namespace gradwire
