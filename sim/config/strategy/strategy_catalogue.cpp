#include "sim/config/strategy/strategy_catalogue.hpp"

#include <algorithm>

#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/strategy/ddl_benchmarks_settings.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/strategy/servers_yaml.hpp"
#include "sim/config/strategy/sharding_hooks_yaml.hpp"
#include "sim/config/strategy/tensorflow_servers_yaml.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "strategies/all_reduce/apex_ddp.hpp"
#include "strategies/all_reduce/autodist_all_reduce.hpp"
#include "strategies/all_reduce/average_gradients.hpp"
#include "strategies/all_reduce/bytegrad.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/dear.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/lb_sgd.hpp"
#include "strategies/all_reduce/local_sgd.hpp"
#include "strategies/all_reduce/mg_wfbp.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/all_reduce/tf_collective_all_reduce.hpp"
#include "strategies/compression/systems.hpp"
#include "strategies/horovod/horovod.hpp"
#include "strategies/peers/decentralized.hpp"
#include "strategies/peers/kungfu_optimizers.hpp"
#include "strategies/peers/kungfu_pair_averaging.hpp"
#include "strategies/servers/byteps.hpp"
#include "strategies/servers/bytescheduler.hpp"
#include "strategies/servers/mxnet_kvstore.hpp"
#include "strategies/servers/p3.hpp"
#include "strategies/servers/ps_async.hpp"
#include "strategies/servers/ps_sync.hpp"
#include "strategies/servers/ssp.hpp"
#include "strategies/servers/tictac.hpp"
#include "strategies/sharded/deepspeed_zero.hpp"
#include "strategies/sharded/fsdp.hpp"
#include "strategies/sharded/megatron.hpp"

namespace gradwire::config {
namespace {

constexpr int grad_accumulation_max = 100'000;

constexpr StrategyFlags any_dtype{.any_dtype = true};
constexpr StrategyFlags half_model{.any_dtype = true, .half_model = true};
constexpr StrategyFlags servers_and_any_dtype{.servers = true, .any_dtype = true};

KeyInfo servers() {
  return {"servers", "one on each machine",
          "where the parameter servers are, of strategies that have some",
          mapping_of(servers_fields)};
}

std::vector<StrategyEntry> list_knobs(std::vector<StrategyEntry> catalogue) {
  for (auto& entry : catalogue) {
    KnobList knobs;
    entry.read(knobs);
    entry.parameters = knobs.list();
    entry.exactness = default_exactness(entry);
    if (takes_compression(entry)) {
      entry.parameters.push_back(
          {"compression", "none", "{name: fp16 | ..., knobs}", mapping_of(compression_section)});
    }
    if (entry.flags.any_dtype) {
      entry.parameters.push_back(strategy_fields().keys().back());
    }
    if (entry.flags.servers) {
      entry.parameters.push_back(servers());
    }
  }
  return catalogue;
}

/// A reader of a sharded strategy.
template <StrategyMaker (*read)(Knobs&, const ShardingHooks&)>
StrategyMaker hooked(Knobs& knobs) {
  return read(knobs, shipped_sharding_hooks());
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): one list, a line or two a strategy
const std::vector<StrategyEntry>& strategy_catalogue() {
  static const std::vector<StrategyEntry> catalogue = list_knobs({
      {"none", "ranks that never talk: a bound, but for the optimizer", NoCommunication::read},
      {"bsp", "all gradients in one all-reduce after backward", read_bsp, any_dtype},
      {"wfbp", "one all-reduce a tensor, as soon as its gradient is ready", read_wfbp, any_dtype},
      {"average_gradients",
       "dist.all_reduce of each gradient after backward, as in PyTorch's tutorial",
       AverageGradients::read, any_dtype},
      {"horovod", "Horovod: cycles, negotiation, fused all-reduces", Horovod::read, any_dtype},
      {"mg_wfbp", "MG-WFBP: gradients merged where waiting costs less than a start-up",
       MgWfbp::read, any_dtype},
      {"asc_wfbp", "MG-WFBP that merges only what could not have started", AscWfbp::read,
       any_dtype},
      {"ps_sync", "parameter servers that sum every worker's gradient",
       [](Knobs& knobs) { return PsSync::read(knobs, shipped_tensorflow_servers()); },
       servers_and_any_dtype},
      {"ps_async", "parameter servers that apply each worker's gradient as it comes", PsAsync::read,
       servers_and_any_dtype},
      {"ssp", "ps_async with a bound on how far workers drift apart", Ssp::read,
       servers_and_any_dtype},
      {"kungfu_sync", "KungFu S-SGD: CPU trees between sockets, or NCCL in name order",
       KungfuSync::read, any_dtype},
      {"kungfu_pair_averaging", "KungFu async SGD: averages with a random peer's model",
       KungfuPairAveraging::read},
      {"kungfu_sma", "KungFu synchronous model averaging, beside the iteration", KungfuSma::read},
      {"kungfu_ada", "KungFu AdaSGD: model averaging first, S-SGD later", KungfuAda::read},
      {"decentralized", "Bagua decentralized SGD: averages models with neighbours",
       Decentralized::read},
      {"bytegrad", "Bagua ByteGrad: bytes in place of floats, scattered and gathered by machines",
       ByteGrad::read},
      {"autodist_all_reduce",
       "AutoDist's AllReduce: groups of chunk_size variables, NCCL or TF's ring",
       AutodistAllReduce::read, any_dtype},
      {"tf_collective_all_reduce",
       "TensorFlow's MultiWorkerMirroredStrategy: packs in turn, its own ring over gRPC or NCCL",
       TfCollectiveAllReduce::read, any_dtype},
      {"ddp", "PyTorch DistributedDataParallel: buckets, in strict order", Ddp::read, any_dtype},
      {"apex_ddp", "Apex DistributedDataParallel: buckets by arrival, flattened", ApexDdp::read,
       any_dtype},
      {"dear", "reduce-scatter in backward, all-gather in the next forward", Dear::read, any_dtype},
      {"lb_sgd", "last-batch SGD: the all-reduce of the last gradients beside this iteration",
       LbSgd::read, any_dtype},
      {"local_sgd", "local and post-local SGD: parameters averaged every few steps",
       LocalSgd::read},
      {"fsdp", "PyTorch FullyShardedDataParallel: ZeRO-1, 2, 3 with prefetch", hooked<Fsdp::read>},
      {"hsdp", "FSDP sharded inside each machine or group, gradients reduced across",
       hooked<Fsdp::read_hybrid>},
      {"fsdp2", "PyTorch fully_shard: FSDP of each parameter, with replicas where asked",
       hooked<Fsdp::read_fully_shard>},
      {"deepspeed", "DeepSpeed's ZeRO-1, 2, 3 by its own buckets", hooked<DeepSpeedZero::read>,
       half_model},
      {"megatron", "Megatron-LM's data parallelism: its buckets and distributed optimizer",
       Megatron::read},
      {"diloco", "islands that shard within themselves and meet in outer steps",
       hooked<Fsdp::read_diloco>},
      {"powersgd", "low-rank factors in DDP's buckets, or after backward (epfml)", read_powersgd},
      {"acp_sgd", "low-rank factors P and Q in turns, fused", read_acp_sgd},
      {"topk", "the largest elements by two all-gathers (ddl-benchmarks)", read_topk},
      {"gtopk", "the largest elements of the sum, along a tree of hosts", read_gtopk},
      {"signsgd", "signs: gathered and summed, or a majority vote at rank 0", read_signsgd},
      {"byteps", "BytePS: partitions through NCCL, host and servers, each by itself", BytePs::read,
       servers_and_any_dtype},
      {"mxnet_kvstore", "MXNet's KVStore: keys on servers, big ones on all, or within one machine",
       MxnetKvStore::read, servers_and_any_dtype},
      {"p3", "priority-based parameter propagation: slices, front layers first", P3::read,
       servers_and_any_dtype},
      {"bytescheduler",
       "ByteScheduler: parts by priority and credit, over Horovod or MXNet's servers",
       ByteScheduler::read, servers_and_any_dtype},
      {"tictac", "TensorFlow's parameter servers, pulls in the order of TIC", TicTac::read,
       servers_and_any_dtype},
  });
  return catalogue;
}

const Fields<StrategyKeys>& strategy_fields() {
  static const Fields<StrategyKeys> fields = {
      "strategy",
      "how gradients are communicated",
      {field("grad_accumulation", &StrategyKeys::grad_accumulation,
             "micro-batches between exchanges", between(1, grad_accumulation_max)),
       word(
           "gradient_dtype", &StrategyKeys::gradient_dtype, {"fp32", "fp16", "bf16"},
           "of the gradients that backward makes (a model of half precision, Apex O2); of "
           "strategies that list it, and not with `compression`",
           "fp32; of a profile with `master_weights: false` its `dtype`, and of deepspeed its fp16 "
           "or bf16")}};
  return fields;
}

Section strategy_section() {
  Section section = strategy_fields().section();
  section.keys.insert(
      section.keys.begin(),
      {{"name", "this or preset", "which one; its own knobs stand beside it",
        among(names_of(strategy_catalogue()))},
       {"preset", "this or name", "settings of an original's run; keys beside it win"}});
  section.keys.push_back(
      {"compression", "none", "what is coded before it is sent", mapping_of(compression_section)});
  section.keys.push_back(servers());
  section.chosen_by = "name";
  section.variants_in = "strategies";
  section.other_names = variable_names();
  section.other_names.insert(section.other_names.end(), ddl_benchmarks_settings().begin(),
                             ddl_benchmarks_settings().end());
  for (const auto& entry : strategy_catalogue()) {
    section.variants.push_back({entry.name, entry.parameters});
  }
  return section;
}

const StrategyEntry* find_strategy(const std::string& name) {
  const auto entry = std::ranges::find(strategy_catalogue(), name, &StrategyEntry::name);
  return entry == strategy_catalogue().end() ? nullptr : &*entry;
}

}  // namespace gradwire::config
