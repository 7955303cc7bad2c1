#include "sim/config/strategy/compression_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/config/yaml/yaml_knobs.hpp"
#include "sim/core/refusal.hpp"
#include "strategies/compression/acp_sgd.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/corrections.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/half_precision.hpp"
#include "strategies/compression/onebit_adam.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/compression/quantiser.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"

namespace gradwire::config {
namespace {

constexpr const char* compression_knob = "compression";
constexpr int threads_default = 4;
constexpr int threads_max = 1024;

/// A small job on which strategies are asked what they exchange: two ranks on two machines, a
/// server beside each.
/// BYTEPS_MIN_COMPRESS_BYTES.
constexpr Bytes byteps_least{65536};

JobView small_job() {
  JobView job;
  job.world_size = 2;
  job.tensors = {{"a", 4096, 0, {64, 64}}, {"b", 64, 1, {64}}};
  job.gradient_order = {1, 0};
  job.layers = {{Seconds{1e-3}, Seconds{2e-3}}, {Seconds{1e-3}, Seconds{2e-3}}};
  job.optimizer = Seconds{1e-3};
  job.machine_of = {0, 1};
  job.machines = 2;
  job.server_machine = {0, 1};
  job.message_latency = Seconds{1e-5};
  job.network_bandwidth = BytesPerSecond{1e9};
  job.host_copy_bandwidth = BytesPerSecond{1e10};
  job.all_reduce_time = [](Bytes size) { return size / BytesPerSecond{1e9}; };
  return job;
}

std::vector<CompressionEntry> list_knobs(std::vector<CompressionEntry> catalogue) {
  for (auto& entry : catalogue) {
    KnobList knobs;
    entry.read(knobs);
    entry.parameters = knobs.list();
  }
  return catalogue;
}

/// Where to encode when nobody says: messages carry what is in host memory already.
CodecDevice natural_device(bool messages, const CompressionEntry& entry) {
  return entry.on_cpu && messages ? CodecDevice::cpu : CodecDevice::gpu;
}

/// The strategy of a small job; nullptr where its knobs ask for more ranks than that has.
std::unique_ptr<Strategy> on_small_job(const StrategyMaker& make) {
  try {
    return make(small_job());
  } catch (const UnsupportedConfiguration&) {
    return nullptr;
  }
}

/// Keys that any compression takes, beside its own knobs.
struct CommonKnobs {
  std::string place;
  int threads = 0;
  Bytes least;
  bool momentum = false;
};

CommonKnobs read_common(Knobs& group, const StrategyEntry& entry) {
  static const std::vector<std::string> devices = {"auto", "gpu", "cpu"};
  static const std::vector<std::string> momenta = {"none", "nesterov"};
  CommonKnobs common;
  common.place = group.choice("device", "auto", devices,
                              "where it encodes; auto: cpu for strategies of messages");
  common.threads = static_cast<int>(group.count("threads", threads_default, 1, threads_max,
                                                "BYTEPS_THREADPOOL_SIZE: 4, of a CPU"));
  // Of the other systems none leaves small messages alone.
  common.least = group.size("min_compress_bytes", entry.name == "byteps" ? byteps_least : Bytes{0},
                            "BYTEPS_MIN_COMPRESS_BYTES, global.cc:43: messages of smaller tensors "
                            "travel as they are; 64 KiB for byteps",
                            Bytes{0});
  common.momentum =
      group.choice("momentum", "none", momenta,
                   "BytePS, docs/gradient-compression.md: of the workers, before they encode") ==
      momenta.back();
  if (common.momentum && entry.name != "byteps") {
    group.refuse("momentum", fmt::format("'momentum' is BytePS's; expected no such key under '{}'",
                                         entry.name));
  }
  return common;
}

CompressorMaker with_momentum(CompressorMaker make) {
  return [make = std::move(make)](const JobView& job, CodecDevice device) {
    return std::make_unique<WithMomentum>(make(job, device), device, job.cpu.sum_rate);
  };
}

/// Why the compression `name` cannot go under a strategy; empty when it can.
std::string refusal(const StrategyEntry& entry, const Strategy& strategy,
                    const Compressor& compressor, const std::string& name, const JobView& job) {
  if (dynamic_cast<const Compressed*>(&strategy) != nullptr) {
    return fmt::format("'{}' compresses by itself", entry.name);
  }
  const std::string why = not_compressible(strategy, compressor, job);
  return why.empty() ? why : fmt::format("'{}' cannot compress '{}': {}", name, entry.name, why);
}

/// The same strategies, but for those that the compression `name` cannot go under.
StrategyMaker refusing(StrategyMaker make, const StrategyEntry& entry, CompressorMaker compress,
                       CodecDevice device, const std::string& name) {
  return [make = std::move(make), entry, compress = std::move(compress), device,
          name](const JobView& job) {
    auto strategy = make(job);
    const std::string why = refusal(entry, *strategy, *compress(job, device), name, job);
    if (!why.empty()) {
      throw UnsupportedConfiguration(UnsupportedConfiguration::Key::strategy, why);
    }
    return strategy;
  };
}

}  // namespace

const std::vector<CompressionEntry>& compression_catalogue() {
  static const std::vector<CompressionEntry> catalogue = list_knobs({
      {"fp16", "cast to fp16 and back", HalfPrecision::read, "", false},
      {"bf16", "cast to bfloat16 and back", HalfPrecision::read, "", false},
      {"signsgd", "one bit an element; signs are summed, or a majority votes",
       SignCompressor::read_sign, "signsgd"},
      {"ef_signsgd", "one bit an element, with error feedback", SignCompressor::read_error_feedback,
       "ef_signsgd"},
      {"qsgd", "random rounding to levels of the norm", Quantiser::read_qsgd, "qsgd"},
      {"dithering", "random rounding to few levels, coded by their frequency (BytePS)",
       Quantiser::read_dithering, "dithering"},
      {"topk", "the largest elements, as values and indexes", Sparsifier::read_topk, "topk"},
      {"ef_topk", "the largest elements, with error feedback", Sparsifier::read_ef_topk, "topk"},
      {"dgc", "Deep Gradient Compression: the largest, momentum correction, warm-up",
       Sparsifier::read_dgc, "dgc"},
      {"randomk", "random elements, as values and indexes", Sparsifier::read_randomk, "randomk"},
      {"gtopk", "the largest elements of the sum, along a tree of hosts", GlobalTopK::read, "topk",
       false},
      {"powersgd", "low-rank factors P and Q, one after the other", PowerSgd::read, "", false},
      {"acp_sgd", "low-rank factors P and Q, in turns", AcpSgd::read, "", false},
      {"onebit_adam", "signs of momentum by all-to-all and all-gather, after a warm-up",
       OneBitAdam::read, "onebit_adam", false},
  });
  return catalogue;
}

Section compression_section() {
  KnobList common;
  read_common(common, {.name = "ddp", .summary = "", .read = nullptr});
  std::vector<KeyInfo> keys = common.list();
  keys.insert(keys.begin(), {"name", required, "which one; its own knobs stand beside it",
                             among(names_of(compression_catalogue()))});
  Section section{"compression", "what a strategy's gradients are coded with", std::move(keys)};
  section.chosen_by = "name";
  section.variants_in = "strategies";
  for (const auto& entry : compression_catalogue()) {
    section.variants.push_back({entry.name, entry.parameters});
  }
  return section;
}

StrategyMaker read_strategy(const StrategyEntry& entry, Knobs& knobs, std::string* left_out) {
  StrategyMaker inner = entry.read(knobs);
  const auto group =
      knobs.group(compression_knob, "{name: fp16 | topk | ..., knobs}: compresses what it sends");
  if (group == nullptr) return inner;
  static const std::vector<std::string> names = names_of(compression_catalogue());
  const std::string name = group->choice("name", "", names, "");
  const auto compression =
      std::ranges::find(compression_catalogue(), name, &CompressionEntry::name);
  const CompressorMaker make = compression->read(*group);
  const auto [place, threads, least, momentum] = read_common(*group, entry);
  if (place == "cpu" && !compression->on_cpu) {
    group->refuse("device", fmt::format("'{}' computes on the GPU; expected 'device: gpu'", name));
  }
  group->finish();
  const auto strategy = on_small_job(inner);
  const bool messages = strategy != nullptr && !strategy->exchanges().empty();
  if (group->given("min_compress_bytes") && !messages) {
    group->refuse(
        "min_compress_bytes",
        fmt::format("'{}' sends no messages; expected no 'min_compress_bytes'", entry.name));
  }
  const CodecDevice device = place == "auto"  ? natural_device(messages, *compression)
                             : place == "cpu" ? CodecDevice::cpu
                                              : CodecDevice::gpu;
  const CompressorMaker compress = momentum ? with_momentum(make) : make;
  if (strategy == nullptr) inner = refusing(std::move(inner), entry, make, device, name);
  const std::string why =
      strategy == nullptr
          ? ""
          : refusal(entry, *strategy, *make(small_job(), device), name, small_job());
  if (!why.empty() && left_out == nullptr) {
    const bool says = why.find("expected") != std::string::npos;
    knobs.refuse(compression_knob, says ? why : why + "; expected no 'compression'");
  }
  if (!why.empty()) {
    *left_out = why;
    return inner;
  }
  return [=, threads = threads, least = least](const JobView& view) -> std::unique_ptr<Strategy> {
    const auto over = [=](std::unique_ptr<Strategy> bare) {
      return std::make_unique<Compressed>(std::move(bare), compress(view, device), view, threads,
                                          least);
    };
    JobView coded = view;
    coded.coded = true;
    if (view.iteration_time) {
      coded.iteration_time = [over, timed = view.iteration_time](std::unique_ptr<Strategy> tried,
                                                                 int steps) {
        return timed(over(std::move(tried)), steps);
      };
    }
    return over(inner(coded));
  };
}

bool takes_compression(const StrategyEntry& entry) {
  KnobList knobs;
  const auto strategy = entry.read(knobs)(small_job());
  if (dynamic_cast<const Compressed*>(strategy.get()) != nullptr) return false;
  const JobView job = small_job();
  // The least demanding compressor, on a CPU where it is asked.
  const SignCompressor signs({}, job, CodecDevice::cpu);
  const HalfPrecision half;
  return not_compressible(*strategy, signs, job).empty() ||
         not_compressible(*strategy, half, job).empty();
}

Exactness default_exactness(const StrategyEntry& entry) {
  KnobList knobs;
  return entry.read(knobs)(small_job())->traits().exactness;
}

}  // namespace gradwire::config
