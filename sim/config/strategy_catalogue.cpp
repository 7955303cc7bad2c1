#include "sim/config/strategy_catalogue.hpp"

#include <algorithm>

#include "sim/config/servers_yaml.hpp"
#include "sim/config/yaml_knobs.hpp"
#include "strategies/bsp.hpp"
#include "strategies/ddp.hpp"
#include "strategies/decentralized.hpp"
#include "strategies/kungfu_ada.hpp"
#include "strategies/kungfu_pair_averaging.hpp"
#include "strategies/kungfu_sma.hpp"
#include "strategies/kungfu_sync.hpp"
#include "strategies/none.hpp"
#include "strategies/ps_async.hpp"
#include "strategies/ps_sync.hpp"
#include "strategies/ssp.hpp"
#include "strategies/wfbp.hpp"

namespace gradwire::config {
namespace {

std::vector<StrategyEntry> list_knobs(std::vector<StrategyEntry> catalogue) {
  for (auto& entry : catalogue) {
    KnobList knobs;
    entry.read(knobs);
    entry.parameters = knobs.list();
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
      {"ps_sync", "parameter servers that sum every worker's gradient", PsSync::read, true},
      {"ps_async", "parameter servers that apply each worker's gradient as it comes", PsAsync::read,
       true},
      {"ssp", "ps_async with a bound on how far workers drift apart", Ssp::read, true},
      {"kungfu_sync", "KungFu S-SGD: CPU trees between sockets, or NCCL in name order",
       KungfuSync::read},
      {"kungfu_pair_averaging", "KungFu async SGD: averages with a random peer's model",
       KungfuPairAveraging::read},
      {"kungfu_sma", "KungFu synchronous model averaging, beside the iteration", KungfuSma::read},
      {"kungfu_ada", "KungFu AdaSGD: model averaging first, S-SGD later", KungfuAda::read},
      {"decentralized", "Bagua decentralized SGD: averages models with neighbours",
       Decentralized::read},
      {"ddp", "PyTorch DistributedDataParallel: buckets, in strict order", Ddp::read},
  });
  return catalogue;
}

const StrategyEntry* find_strategy(const std::string& name) {
  const auto entry = std::ranges::find(strategy_catalogue(), name, &StrategyEntry::name);
  return entry == strategy_catalogue().end() ? nullptr : &*entry;
}

}  // namespace gradwire::config
