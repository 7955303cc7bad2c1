#include "sim/config/strategy_catalogue.hpp"

#include <algorithm>
#include <type_traits>

#include "strategies/bsp.hpp"
#include "strategies/ddp.hpp"
#include "strategies/none.hpp"
#include "strategies/wfbp.hpp"

namespace gradwire::config {
namespace {

/// The oldest release whose bucketing Ddp knows.
constexpr Release oldest_release{1, 4};
/// gradient_as_bucket_view: new in PyTorch 1.7 (release notes, distributed).
constexpr Release views_from{1, 7};

/// For strategies without knobs.
template <class S>
StrategyMaker read_plain(YamlMap& /*map*/) {
  return [](const JobView& job) -> std::unique_ptr<Strategy> {
    if constexpr (std::is_default_constructible_v<S>) {
      return std::make_unique<S>();
    } else {
      return std::make_unique<S>(job);
    }
  };
}

CommHook read_comm_hook(YamlMap& map) {
  auto compression = map.optional_map("compression");
  if (!compression) return CommHook::none;
  static const std::vector<std::string> known = {"fp16", "bf16"};
  const std::string name = compression->require_choice("name", known);
  compression->finish();
  return name == "fp16" ? CommHook::fp16_compress : CommHook::bf16_compress;
}

StrategyMaker read_ddp(YamlMap& map) {
  DdpOptions options;
  if (const auto version = map.optional<std::string>("version")) {
    const auto release = parse_release(*version);
    if (!release || *release < oldest_release) {
      map.fail("version", "'version' is '" + *version +
                              "'; expected a PyTorch release from 1.4 on, such as 1.7");
    }
    options.version = *release;
  }
  options.bucket_cap = map.value_or("bucket_cap", options.bucket_cap, above(Bytes{0}));
  options.first_bucket_cap =
      map.value_or("first_bucket_cap", options.first_bucket_cap, above(Bytes{0}));
  options.gradient_as_bucket_view =
      map.value_or("gradient_as_bucket_view", options.gradient_as_bucket_view);
  if (options.gradient_as_bucket_view && options.version < views_from) {
    map.fail("gradient_as_bucket_view",
             "'gradient_as_bucket_view' came with PyTorch 1.7; expected false or a later version");
  }
  options.find_unused_parameters =
      map.value_or("find_unused_parameters", options.find_unused_parameters);
  options.broadcast_buffers = map.value_or("broadcast_buffers", options.broadcast_buffers);
  options.comm_hook = read_comm_hook(map);
  return [options](const JobView& job) { return std::make_unique<Ddp>(options, job); };
}

std::vector<ParameterInfo> ddp_parameters() {
  const DdpOptions defaults;
  const auto yes_no = [](bool value) { return value ? "true" : "false"; };
  const std::string ddp = "torch.nn.parallel.DistributedDataParallel";
  return {
      {"version", "1.7", "PyTorch release whose bucketing is followed, from 1.4 on"},
      {"bucket_cap", bound_text(defaults.bucket_cap), ddp + "(bucket_cap_mb=25)"},
      {"first_bucket_cap", bound_text(defaults.first_bucket_cap),
       "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES"},
      {"gradient_as_bucket_view", yes_no(defaults.gradient_as_bucket_view), ddp + ", from 1.7 on"},
      {"find_unused_parameters", yes_no(defaults.find_unused_parameters), ddp},
      {"broadcast_buffers", yes_no(defaults.broadcast_buffers), ddp},
      {"compression", "none", "{name: fp16 | bf16}: DDP's fp16_compress_hook, bf16_compress_hook"},
  };
}

}  // namespace

const std::vector<StrategyEntry>& strategy_catalogue() {
  static const std::vector<StrategyEntry> catalogue = {
      {"none",
       "one GPU without a wrapper, or ranks that never talk",
       {},
       read_plain<NoCommunication>},
      {"bsp", "all gradients in one all-reduce after backward", {}, read_plain<Bsp>},
      {"wfbp", "one all-reduce a tensor, as soon as its gradient is ready", {}, read_plain<Wfbp>},
      {"ddp", "PyTorch DistributedDataParallel: buckets, in strict order", ddp_parameters(),
       read_ddp},
  };
  return catalogue;
}

const StrategyEntry* find_strategy(const std::string& name) {
  const auto entry = std::ranges::find(strategy_catalogue(), name, &StrategyEntry::name);
  return entry == strategy_catalogue().end() ? nullptr : &*entry;
}

}  // namespace gradwire::config
