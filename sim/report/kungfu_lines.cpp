
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/benchmark_lines.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;
using Pair = std::pair<std::string_view, std::string_view>;

constexpr const char* first_device = "/gpu:0";

/// Names of tf.keras.applications.
constexpr std::array<Pair, 8> keras_models = {{{"resnet50", "ResNet50"},
                                               {"resnet101", "ResNet101"},
                                               {"resnet152", "ResNet152"},
                                               {"vgg16", "VGG16"},
                                               {"vgg19", "VGG19"},
                                               {"densenet121", "DenseNet121"},
                                               {"densenet201", "DenseNet201"},
                                               {"inception_v3", "InceptionV3"}}};

/// --kf-optimizer
constexpr std::array<Pair, 4> optimizers = {{{"kungfu_sync", "sync-sgd"},
                                             {"kungfu_pair_averaging", "async-sgd"},
                                             {"kungfu_sma", "sma"},
                                             {"kungfu_ada", "ada-sgd"}}};

/// The original's name, our own where it has none.
template <std::size_t N>
std::string original(const std::array<Pair, N>& names, const std::string& name) {
  for (const auto& [ours, theirs] : names) {
    if (ours == name) return std::string(theirs);
  }
  return name;
}

/// KUNGFU_ALLREDUCE_STRATEGY, which kungfu-run sets for every worker, its own default as well.
std::string graph_of(const Point& point) {
  for (const char* key : {"strategy.graph", "strategy.KUNGFU_ALLREDUCE_STRATEGY"}) {
    std::string graph = written_in_scenario(point, key);
    if (!graph.empty()) return graph;
  }
  return "BINARY_TREE_STAR";
}

/// --kf-optimizer
std::string optimizer_of(const Point& point) {
  const std::string mode = written_in_scenario(point, "strategy.mode");
  if (mode == "nccl") return "sync-sgd-nccl";
  if (mode == "hierarchical") return "sync-sgd-hierarchical-nccl";
  return original(optimizers, point.strategy);
}

/// --fuse: off in presets, which follow the benchmark, and where nothing can be fused.
bool fuses(const Point& point) {
  const bool averages = point.strategy == "kungfu_pair_averaging";
  if (!averages && written_in_scenario(point, "strategy.mode") != "nccl") return false;
  const std::string fuse =
      written_in_scenario(point, averages ? "strategy.fuse" : "strategy.nccl_fusion");
  if (!fuse.empty()) return fuse == "true";
  return written_in_scenario(point, "strategy.preset").empty();
}

}  // namespace

std::string kungfu_lines(const Point& point) {
  const BenchmarkRates rates = benchmark_rates(point.result);
  const std::string model = original(keras_models, point.model);
  std::string text =
      plain_format("Model: {}\nBatch size: {}\nRunning warmup...\nRunning benchmark...\n", model,
                   point.result.batch_per_gpu);
  for (std::size_t i = 0; i < rates.rates.size(); ++i) {
    text += plain_format("Iter #{}: {:.1f} img/sec per {}\n", i, rates.rates[i], first_device);
  }
  const Json attributes = {{"framework", "kungfu"},
                           {"np", point.result.world_size},
                           {"strategy", graph_of(point)},
                           {"bs", point.result.batch_per_gpu},
                           {"model", model},
                           {"xla", false},
                           {"kf-opt", optimizer_of(point)},
                           {"fuse", fuses(point)},
                           {"nvlink", nullptr},
                           {"data", "memory"}};
  return text + plain_format("Img/sec per {}: {:.1f} +-{:.1f}\nRESULT: {:f} +-{:f} {}\n",
                             first_device, rates.mean, rates.confidence, rates.mean,
                             rates.confidence,
                             attributes.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gradwire
