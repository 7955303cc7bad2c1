#include "sim/config/strategy_catalogue.hpp"

#include <algorithm>

#include "sim/config/servers_yaml.hpp"
#include "sim/config/yaml_knobs.hpp"
#include "strategies/bsp.hpp"
#include "strategies/byteps.hpp"
#include "strategies/bytescheduler.hpp"
#include "strategies/ddp.hpp"
#include "strategies/horovod.hpp"
#include "strategies/mg_wfbp.hpp"
#include "strategies/none.hpp"
#include "strategies/p3.hpp"
#include "strategies/tictac.hpp"
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
      {"horovod", "Horovod: cycles, negotiation, fused all-reduces", Horovod::read},
      {"mg_wfbp", "MG-WFBP: gradients merged where waiting costs less than a start-up",
       MgWfbp::read},
      {"asc_wfbp", "MG-WFBP that merges only what could not have started", AscWfbp::read},
      {"ddp", "PyTorch DistributedDataParallel: buckets, in strict order", Ddp::read},
      {"byteps", "BytePS: partitions through NCCL, host and servers, each by itself", BytePs::read,
       true},
      {"p3", "priority-based parameter propagation: slices, front layers first", P3::read, true},
      {"bytescheduler",
       "ByteScheduler: parts by priority and credit, over Horovod or MXNet's servers",
       ByteScheduler::read, true},
      {"tictac", "TensorFlow's parameter servers, pulls in the order of TIC", TicTac::read, true},
  });
  return catalogue;
}

const StrategyEntry* find_strategy(const std::string& name) {
  const auto entry = std::ranges::find(strategy_catalogue(), name, &StrategyEntry::name);
  return entry == strategy_catalogue().end() ? nullptr : &*entry;
}

}  // namespace gradwire::config
