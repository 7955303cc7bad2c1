#include "strategies/servers/kv_store.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace gradwire {
namespace {

constexpr int store_copy_out = 0;
constexpr int store_copy_in = 1;
constexpr int first_store_exchange = 2;
constexpr int store_sum_thread = 0;
constexpr int first_server_thread = 1;
constexpr int store_nccl_stream = 1;
constexpr std::int64_t tensor_limit = 1 << 20;
/// KVStoreDist::EncodeDefaultKey deals keys by this factor.
constexpr std::int64_t key_factor = 9973;

}  // namespace

KvStoreOptions read_kv_store(Knobs& knobs, const std::vector<std::string>& kinds) {
  KvStoreOptions options;
  options.kv_store = knobs.choice("kv_store", options.kv_store, kinds,
                                  "mxnet.kvstore.create: sums a machine's GPUs on CPU or GPU");
  knobs.read("update_on_kvstore", options.update_on_kvstore,
             "MXNET_UPDATE_ON_KVSTORE=1: servers run the optimizer");
  options.bigarray_bound =
      knobs.count("bigarray_bound", options.bigarray_bound, 1, std::int64_t{1} << 40,
                  "MXNET_KVSTORE_BIGARRAY_BOUND: elements from which a key is on all servers");
  options.reduction_threads = static_cast<int>(
      knobs.count("reduction_threads", options.reduction_threads, 1, tensor_limit,
                  "MXNET_KVSTORE_REDUCTION_NTHREADS: that sum a machine's GPUs on its CPU, of keys "
                  "from bigarray_bound on; one of smaller ones"));
  options.connections = static_cast<int>(knobs.count("connections", options.connections, 1,
                                                     tensor_limit, "ps-lite: one socket a pair"));
  options.sum_rate = knobs.cpu().sum_rate;
  knobs.read("sum_rate", options.sum_rate,
             "one core adds floats, our measurement, profiles/libraries/cpu.yaml; that MXNet is as "
             "fast is "
             "assumed");
  return options;
}

Seconds local_sum_time(const KvStoreOptions& options, const JobView& job, int gpus, Bytes size) {
  const bool by_all = job.elements_in(size) >= options.bigarray_bound;
  const int threads = by_all ? options.reduction_threads : 1;
  return static_cast<double>(gpus) / threads * (size / options.sum_rate);
}

KvStore::KvStore(Poster& poster, const KvStoreOptions& options, const JobView& job, bool asks)
    : poster_(&poster),
      options_(options),
      job_(job),
      layout_(job),
      to_host_(poster, messages_by(store_copy_out), options.socket_buffer),
      cpu_sum_(poster,
               [this](const LaneItem& load) {
                 return HostWork{store_sum_thread,
                                 local_sum_time(options_, job_, layout_.local_size(), load.size),
                                 load.label};
               }),
      to_gpus_(poster, messages_by(store_copy_in), options.socket_buffer) {
  const ParameterServerSpec spec{
      .push_exchange = first_store_exchange,
      .first_thread = first_server_thread,
      .together = options.socket_buffer,
      .passes = layout_.machines() + (options.update_on_kvstore ? update_passes : 0),
      .sum_rate = options.sum_rate,
      .loopback = options.loopback_bandwidth,
      .request = asks ? 2 * job.message_latency : Seconds{},
      .coded = job.coded};
  for (int server = 0; server < layout_.servers(); ++server) {
    servers_.emplace_back(poster, spec.of(server, layout_.colocated(server)));
  }
}

void KvStore::visit_exchanges(const ExchangeVisit& visit) const {
  // On the CPU every GPU's whole gradient is needed, and every GPU reads the whole value.
  visit(on_gpu() ? layout_.copy_from_root() : layout_.copy_to_host(1));
  visit(on_gpu() ? layout_.copy_to_root() : layout_.copy_back(1));
  layout_.visit_machines(visit, options_.connections);
}

std::vector<CollectiveUse> KvStore::collectives() const {
  if (!on_gpu() || !local()) return {};
  return {{CollectiveKind::reduce, families::node}, {CollectiveKind::broadcast, families::node}};
}

void KvStore::push_pull(const LaneItem& item, int server, const KvStoreEnds& ends) {
  sum_locally(item, [this, item, server, ends] {
    to_server(item, server, {.pushed = ends.pushed, .pulled = [this, item, ends] {
                               distribute_locally(item, ends.pulled);
                             }});
  });
}

std::vector<KvStore::Shard> KvStore::shards_of(std::int64_t elements, std::int64_t key) const {
  if (elements < options_.bigarray_bound) {
    return {{static_cast<int>(key * key_factor % servers()), job_.size_of(elements)}};
  }
  std::vector<Shard> shards;
  for (int server = 0; server < servers(); ++server) {
    // Even shares; the first ones take what is over.
    const std::int64_t more = server < elements % servers() ? 1 : 0;
    shards.push_back({server, job_.size_of(elements / servers() + more)});
  }
  return shards;
}

void KvStore::push_pull_key(const LaneItem& item, const KvStoreEnds& ends) {
  sum_locally(item, [this, item, ends] {
    const auto shards = shards_of(job_.elements_in(item.size), static_cast<std::int64_t>(item.key));
    const auto pushes = std::make_shared<std::size_t>(shards.size());
    const auto pulls = std::make_shared<std::size_t>(shards.size());
    const KvStoreEnds each{.pushed =
                               [pushes, ends] {
                                 if (--*pushes == 0 && ends.pushed) ends.pushed();
                               },
                           .pulled =
                               [this, pulls, item, ends] {
                                 if (--*pulls == 0) distribute_locally(item, ends.pulled);
                               }};
    for (const Shard& shard : shards) {
      LaneItem part = item;
      part.size = shard.size;
      to_server(part, shard.server, each);
    }
  });
}

void KvStore::to_server(const LaneItem& item, int server, const KvStoreEnds& ends) {
  auto& to = servers_[static_cast<std::size_t>(server)];
  LaneItem push = item;
  push.then = [&to, item, ends] {
    LaneItem pull = item;
    pull.then = ends.pulled;
    to.pull(std::move(pull));
  };
  to.push(std::move(push), ends.pushed);
}

void KvStore::sum_locally(const LaneItem& item, Poster::Then then) {
  if (on_gpu()) {
    const auto copy = [this, item, then = std::move(then)] {
      to_host_.add(labelled("COPYD2H ", item, then));
    };
    node_collective(CollectiveKind::reduce, item, copy);
    return;
  }
  const auto sum = [this, item, then = std::move(then)] {
    if (local()) {
      cpu_sum_.add(labelled("LOCAL SUM ", item, then));
    } else {
      then();
    }
  };
  to_host_.add(labelled("COPYD2H ", item, sum));
}

void KvStore::distribute_locally(const LaneItem& item, Poster::Then then) {
  const auto spread = [this, item, then = std::move(then)] {
    if (on_gpu()) {
      node_collective(CollectiveKind::broadcast, item, then);
    } else {
      then();
    }
  };
  to_gpus_.add(labelled("COPYH2D ", item, spread));
}

void KvStore::node_collective(CollectiveKind kind, const LaneItem& item, Poster::Then then) {
  if (!local()) {
    then();
    return;
  }
  Collective call;
  call.kind = kind;
  call.size = item.size;
  call.tensors = item.tensors;
  call.label = (kind == CollectiveKind::reduce ? "REDUCE " : "BROADCAST ") + item.label;
  call.communicator = families::node;
  call.ready = Collective::Ready::at_once;
  call.stream = store_nccl_stream;
  poster_->post(std::move(call), std::move(then));
}

}  // namespace gradwire
