#include "calibration/attribution/range_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace gradwire::calibration {
namespace {

constexpr std::string_view evaluate_function = "autograd::engine::evaluate_function: ";
constexpr std::string_view our_module = "gradwire.fwd:";
constexpr std::string_view kineto_module = "nn.Module: ";
constexpr std::string_view our_gradient = "gradwire.grad:";
constexpr std::string_view our_iteration = "gradwire.iteration:";

template <std::size_t Count>
bool begins_with_any(std::string_view name, const std::array<std::string_view, Count>& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return name.starts_with(p); });
}

/// Nodes are named after the operator: "ReluBackward0", "CudnnConvolutionBackward".
bool is_node(std::string_view name) {
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0) {
    name.remove_suffix(1);
  }
  return name.ends_with("Backward") && !name.starts_with("aten::");
}

bool is_communication(std::string_view name) {
  constexpr std::string_view library = "nccl";
  return name.size() >= library.size() &&
         std::equal(library.begin(), library.end(), name.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

RangeMeaning meaning_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> wrappers = {"torch::distributed::reducer::",
                                                        "torch.distributed.ddp.reducer::",
                                                        "c10d::",
                                                        "nccl:",
                                                        "record_param_comms",
                                                        "_broadcast_coalesced"};
  constexpr std::array<std::string_view, 3> copies = {"aten::copy_", "aten::flatten_dense_tensors",
                                                      "aten::unflatten_dense_tensors"};
  constexpr std::array<std::string_view, 12> losses = {"aten::cross_entropy",
                                                       "aten::nll_loss",
                                                       "aten::binary_cross_entropy",
                                                       "aten::mse_loss",
                                                       "aten::l1_loss",
                                                       "aten::smooth_l1_loss",
                                                       "aten::huber_loss",
                                                       "aten::kl_div",
                                                       "aten::ctc_loss",
                                                       "aten::hinge_embedding_loss",
                                                       "aten::cosine_embedding_loss",
                                                       "aten::triplet_margin_loss"};
  RangeMeaning meaning;
  meaning.accumulate = name.ends_with("AccumulateGrad");
  meaning.backward = meaning.accumulate || name.starts_with(evaluate_function) || is_node(name);
  meaning.optimizer = name.starts_with("Optimizer.step#") || name == "gradwire.optimizer";
  meaning.wrapper = begins_with_any(name, wrappers);
  meaning.model_call = name == "DistributedDataParallel.forward";
  meaning.module = !module_name(name).empty();
  meaning.loss = begins_with_any(name, losses);
  meaning.plain_copy = begins_with_any(name, copies);
  meaning.iteration = name.starts_with("ProfilerStep#");
  meaning.operation = name.starts_with("aten::");
  meaning.communication = is_communication(name);
  return meaning;
}

}  // namespace

std::vector<RangeMeaning> range_meanings(const NameTable& names) {
  std::vector<RangeMeaning> meanings;
  meanings.reserve(names.size());
  for (NameId id = 0; id < names.size(); ++id) meanings.push_back(meaning_of(names[id]));
  return meanings;
}

std::string_view module_name(std::string_view range) {
  for (const std::string_view prefix : {our_module, kineto_module}) {
    if (range.starts_with(prefix)) return range.substr(prefix.size());
  }
  return {};
}

GradientName gradient_name(std::string_view mark) {
  if (!mark.starts_with(our_gradient)) return {};
  mark.remove_prefix(our_gradient.size());
  const std::size_t type = mark.rfind(':');
  if (type == std::string_view::npos || type == 0) return {};
  const std::size_t count = mark.rfind(':', type - 1);
  if (count == std::string_view::npos) return {};
  const std::string_view digits = mark.substr(count + 1, type - count - 1);
  GradientName name;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), name.elements);
  if (error != std::errc{} || end != digits.data() + digits.size() || name.elements < 0) return {};
  name.parameter = mark.substr(0, count);
  return name;
}

bool begins_iteration(std::string_view mark) {
  return mark.starts_with(our_iteration);
}

}  // namespace gradwire::calibration
