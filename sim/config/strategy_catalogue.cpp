#include "sim/config/strategy_catalogue.hpp"

#include <algorithm>

#include "sim/config/compression_catalogue.hpp"
#include "sim/config/servers_yaml.hpp"
#include "sim/config/yaml_knobs.hpp"
#include "strategies/acpsgd.hpp"
#include "strategies/bsp.hpp"
#include "strategies/ddp.hpp"
#include "strategies/gtopk.hpp"
#include "strategies/none.hpp"
#include "strategies/powersgd.hpp"
#include "strategies/signsgd.hpp"
#include "strategies/topk.hpp"
#include "strategies/wfbp.hpp"

namespace gradwire::config {
namespace {

std::vector<StrategyEntry> list_knobs(std::vector<StrategyEntry> catalogue) {
  for (auto& entry : catalogue) {
    KnobList knobs;
    entry.read(knobs);
    entry.parameters = knobs.list();
    if (takes_compression(entry)) {
      entry.parameters.push_back({"compression", "none", "{name: fp16 | ..., knobs}"});
    }
    if (entry.servers) {
      entry.parameters.push_back({"servers", "one on each machine", servers_help()});
    }
  }
  return catalogue;
}

}  // namespace

const std::vector<StrategyEntry>& strategy_catalogue() {
  static const std::vector<StrategyEntry> catalogue = list_knobs({
      {"none", "one GPU without a wrapper, or ranks that never talk", NoCommunication::read},
      {"bsp", "all gradients in one all-reduce after backward", Bsp::read},
      {"wfbp", "one all-reduce a tensor, as soon as its gradient is ready", Wfbp::read},
      {"ddp", "PyTorch DistributedDataParallel: buckets, in strict order", Ddp::read},
      {"powersgd", "low-rank factors in DDP's buckets, or after backward (epfml)", read_powersgd},
      {"acp_sgd", "low-rank factors P and Q in turns, fused", read_acp_sgd},
      {"topk", "the largest elements by two all-gathers (ddl-benchmarks)", read_topk},
      {"gtopk", "the largest elements of the sum, along a tree of hosts", read_gtopk},
      {"signsgd", "signs: gathered and summed, or a majority vote at rank 0", read_signsgd},
  });
  return catalogue;
}

const StrategyEntry* find_strategy(const std::string& name) {
  const auto entry = std::ranges::find(strategy_catalogue(), name, &StrategyEntry::name);
  return entry == strategy_catalogue().end() ? nullptr : &*entry;
}

}  // namespace gradwire::config
