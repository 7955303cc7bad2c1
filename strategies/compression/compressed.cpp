#include "strategies/compression/compressed.hpp"

#include <algorithm>
#include <cassert>

namespace gradwire {
namespace {

bool among_machines(const Endpoint& from, const Endpoint& to, const JobView& job) {
  const auto machine = [&](const Endpoint& end) {
    const auto index = static_cast<std::size_t>(end.index);
    return end.place == Endpoint::Place::server ? job.server_machine[index] : job.machine_of[index];
  };
  return machine(from) != machine(to);
}

bool leaves_machine(const Exchange& exchange, const JobView& job) {
  return std::ranges::any_of(exchange.phases, [&](const std::vector<Message>& phase) {
    return std::ranges::any_of(phase, [&](const Message& message) {
      return among_machines(message.from, message.to, job);
    });
  });
}

int fan_in(const Exchange& exchange) {
  int most = 0;
  for (const auto& phase : exchange.phases) {
    std::map<Endpoint, int> arriving;
    for (const Message& message : phase) most = std::max(most, ++arriving[message.to]);
  }
  return most;
}

/// The pool at one end of all messages of an exchange: the server's, or the workers'.
std::size_t pool_at(const Exchange& exchange, Endpoint Message::*end) {
  for (const auto& phase : exchange.phases) {
    for (const Message& message : phase) {
      const Endpoint& place = message.*end;
      if (place.place == Endpoint::Place::server) return static_cast<std::size_t>(place.index) + 1;
    }
  }
  return 0;
}

/// Threads of a server that code what it gets and answers, of strategies that name none of theirs:
/// as many as BytePS's has by default (BYTEPS_SERVER_ENGINE_THREAD, byteps/server/server.cc).
constexpr int server_threads = 4;

/// Ranks of each of the collective's groups, where machines have equally many.
int group_size(const Collective& collective, const JobView& job) {
  if (collective.communicator == families::all) return job.world_size;
  if (collective.communicator != families::node) return job.machines;
  return ranks_of_part(std::max(job.world_size / job.machines, 1), collective.part);
}

std::int64_t elements_of(const std::vector<TensorId>& tensors, const JobView& job) {
  std::int64_t elements = 0;
  for (const TensorId id : tensors) elements += job.tensor(id).elements;
  return elements;
}

}  // namespace

DeviceWork Compressed::kernels(const CodecWork& work, DeviceStream stream, bool notify) {
  return {.kind = WorkKind::encode,
          .traffic = work.traffic,
          .kernels = work.kernels,
          .label = work.label,
          .flops = work.flops,
          .time = work.time,
          .stream = stream,
          .notify = notify,
          .least = work.least,
          .estimate = work.estimate};
}

Compressed::Compressed(std::unique_ptr<Strategy> inner, std::unique_ptr<Compressor> compressor,
                       JobView job, int threads, Bytes least)
    : inner_(std::move(inner)),
      compressor_(std::move(compressor)),
      job_(std::move(job)),
      threads_(threads),
      chains_(inner_->traits().dynamic || compressor_->chained()),
      independent_(inner_->traits().independent_workers),
      least_(least) {
  const auto inner_exchanges = inner_->exchanges();
  first_own_exchange_ = static_cast<int>(inner_exchanges.size());
  for (const auto& exchange : inner_exchanges) {
    crosses_.push_back(leaves_machine(exchange, job_));
    fan_in_.push_back(fan_in(exchange));
    ends_.push_back(
        {.from = pool_at(exchange, &Message::from), .to = pool_at(exchange, &Message::to)});
  }
  const auto add_pool = [this](int size) {
    Pool& pool = pools_.emplace_back();
    for (int i = 0; i < size; ++i) pool.free.insert(own_threads_++);
  };
  add_pool(threads_);
  ++own_threads_;  // the bus
  for (std::size_t server = 0; server < job_.server_machine.size(); ++server) {
    add_pool(server_threads);
  }
}

Operations Compressed::on_event(Seconds now, const Event& event) {
  now_ = now;
  if (const auto* start = std::get_if<IterationStart>(&event)) iteration_ = start->iteration;
  if (const auto* done = std::get_if<OperationDone>(&event)) {
    poster_.done(done->operation);
  } else {
    ask(event);
  }
  return poster_.take();
}

void Compressed::ask(const Event& event) {
  for (auto& operation : inner_->on_event(now_, event)) {
    std::visit([this](auto& one) { rewrite(std::move(one)); }, operation);
  }
}

void Compressed::pass(Operation operation, bool tells) {
  const auto inner = static_cast<OperationId>(links_.size());
  Poster::Then then;
  if (tells) then = [this, inner] { ask(OperationDone{inner}); };
  links_.push_back({.operation = poster_.post(std::move(operation), std::move(then))});
}

void Compressed::rewrite(DeviceWork work) {
  const bool tells = work.notify || work.stream == DeviceStream::side;
  pass(std::move(work), tells);
}
void Compressed::rewrite(HostWork work) {
  if (chains_ && work.thread >= 0) work.thread += own_threads_;
  if (chains_ && work.beside) work.beside->thread += own_threads_;
  pass(std::move(work), true);
}
void Compressed::rewrite(Flag flag) {
  pass(std::move(flag), true);
}
void Compressed::rewrite(const Raise& raise) {
  pass(Raise{links_[static_cast<std::size_t>(raise.flag)].operation}, false);
}
void Compressed::rewrite(OptimizerStep step) {
  pass(std::move(step), false);
}

void Compressed::rewrite(Collective collective) {
  if (!takes(collective)) {
    pass(std::move(collective), true);
    return;
  }
  const Recipe recipe = compressor_->recipe(group_of(collective));
  if (chains_) {
    start_chain(collective, recipe);
  } else {
    post_batch(collective, recipe);
  }
}

void Compressed::rewrite(Messages messages) {
  if (!takes(messages)) {
    if (messages.priority) {
      start_chain(messages, {.size = messages.size, .encode = {}, .decode = {}});
    } else {
      pass(std::move(messages), true);
    }
    return;
  }
  const auto payload =
      compressor_->payload(messages.size.count() / gradient_element_size, iteration_);
  assert(payload);
  start_chain(messages, *payload);
}

void Compressed::rewrite(const Gate& gate) {
  Gate outer{.until = {}, .worker = gate.worker};
  std::vector<std::int64_t> batches;
  for (const OperationId id : gate.until) {
    const Link link = links_[static_cast<std::size_t>(id)];
    if (link.batch < 0) {
      outer.until.push_back(link.operation);
      continue;
    }
    const auto found = batches_.find(link.batch);
    if (found == batches_.end()) continue;  // waited for and decoded before
    const auto& transfers = found->second.transfers;
    outer.until.insert(outer.until.end(), transfers.begin(), transfers.end());
    batches.push_back(link.batch);
  }
  links_.push_back({.operation = poster_.post(std::move(outer))});
  for (const std::int64_t id : batches) {
    Batch& batch = batches_.at(id);
    for (const auto& work : std::exchange(batch.decode, {})) {
      poster_.post(kernels(work, DeviceStream::compute, false));
    }
  }
}

bool Compressed::takes(const Collective& collective) const {
  if (collective.tensors.empty() || collective.size.count() < gradient_element_size) return false;
  return compressor_->linear() || (collective.kind == CollectiveKind::all_reduce &&
                                   collective.communicator != families::node);
}

bool Compressed::takes(const Messages& messages) const {
  return !messages.tensors.empty() && messages.size.count() >= gradient_element_size &&
         crosses_[static_cast<std::size_t>(messages.exchange)] && large_enough(messages.tensors);
}

bool Compressed::large_enough(const std::vector<TensorId>& tensors) const {
  return fp32_size(elements_of(tensors, job_)) >= least_;
}

TensorGroup Compressed::group_of(const Collective& collective) const {
  TensorGroup group;
  group.tensors = collective.tensors;
  group.elements = collective.size.count() / gradient_element_size;
  group.whole = group.elements == elements_of(group.tensors, job_);
  group.ranks = group_size(collective, job_);
  group.iteration = iteration_;
  const std::int64_t part = group.elements / group.ranks;
  group.encoded = collective.kind == CollectiveKind::all_gather ? part : group.elements;
  group.decoded = collective.kind == CollectiveKind::reduce_scatter ? part : group.elements;
  return group;
}

Operation Compressed::transfer(const Collective& original, const Transfer& transfer) const {
  std::string label =
      transfer.part.empty() ? original.label : original.label + ": " + transfer.part;
  if (transfer.exchange >= 0) {
    return Messages{.exchange = first_own_exchange_ + transfer.exchange,
                    .size = transfer.size,
                    .tensors = original.tensors,
                    .label = std::move(label)};
  }
  Collective collective = original;
  collective.kind = compressor_->linear() ? original.kind : transfer.kind;
  collective.size = transfer.size;
  collective.label = std::move(label);
  if (transfer.leaders) collective.communicator = families::leaders;
  if (chains_) {
    collective.ready = Collective::Ready::at_once;
    collective.stream = chain_stream(original);
  }
  return collective;
}

// ---- on the compute stream ----------------------------------------------------------------------

void Compressed::post_batch(const Collective& collective, const Recipe& recipe) {
  assert(recipe.rounds.size() == 1);
  for (const auto& work : recipe.encode) {
    poster_.post(kernels(work, DeviceStream::compute, false));
  }
  const std::int64_t id = batch_count_++;
  Batch batch{.inner = static_cast<OperationId>(links_.size()),
              .transfers = {},
              .decode = recipe.rounds[0].work};
  for (const auto& one : recipe.rounds[0].transfers) {
    batch.transfers.push_back(poster_.post(transfer(collective, one), [this, id] {
      if (Batch& ended = batches_.at(id); --ended.missing == 0) ask(OperationDone{ended.inner});
    }));
  }
  batch.missing = static_cast<int>(batch.transfers.size());
  links_.push_back({.batch = id});
  batches_.emplace(id, std::move(batch));
}

// ---- what the loop is notified of
// ----------------------------------------------------------------------

Traits Compressed::traits() const {
  Traits traits = inner_->traits();
  traits.dynamic = chains_;
  traits.exactness = std::max(traits.exactness, Exactness::lossy);
  return traits;
}

std::vector<CollectiveUse> Compressed::collectives() const {
  auto uses = inner_->collectives();
  const auto inner_uses = uses;
  for (const CollectiveUse& own : compressor_->collectives()) {
    uses.push_back(own);
    if (own.communicator != families::all) continue;
    for (CollectiveUse use : inner_uses) {  // in place of the inner strategy's, in its groups
      if (use.communicator == families::all || use.communicator == families::node) continue;
      use.kind = own.kind;
      uses.push_back(use);
    }
  }
  std::ranges::sort(uses);
  // clang 14 does not compile what std::ranges::unique gives back.
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

std::vector<Exchange> Compressed::exchanges() const {
  auto exchanges = inner_->exchanges();
  for (auto& own : compressor_->exchanges()) exchanges.push_back(std::move(own));
  return exchanges;
}

std::vector<PlanGroup> Compressed::plan(int iteration) const {
  auto groups = inner_->plan(iteration);
  const bool messages = std::ranges::find(crosses_, true) != crosses_.end();
  for (auto& group : groups) {
    if (group.elements == 0) continue;
    if (messages) {
      if (!large_enough(group.tensors)) continue;
      const auto payload = compressor_->payload(group.elements, iteration);
      if (payload) group.size = payload->size;
      continue;
    }
    const TensorGroup tensors{.tensors = group.tensors,
                              .elements = group.elements,
                              .encoded = group.elements,
                              .decoded = group.elements,
                              .whole = group.elements == elements_of(group.tensors, job_),
                              .ranks = job_.world_size,
                              .iteration = iteration};
    group.size = Bytes{0};
    for (const auto& round : compressor_->recipe(tensors).rounds) {
      for (const auto& one : round.transfers) group.size += one.size;
    }
  }
  return groups;
}

std::string not_compressible(const Strategy& inner, const Compressor& compressor,
                             const JobView& job) {
  if (std::string why = inner.traits().takes_no_compression; !why.empty()) return why;
  constexpr std::int64_t some_elements = 1024;
  const bool messages = std::ranges::any_of(
      inner.exchanges(), [&](const Exchange& exchange) { return leaves_machine(exchange, job); });
  if (messages) {
    const auto payload = compressor.payload(some_elements, 0);
    if (!payload) return "the strategy sends messages, and this compression knows all-reduces only";
    if (inner.traits().independent_workers &&
        payload->encode.front().place == CodecWork::Place::gpu) {
      return "the strategy's workers are independent; expected 'device: cpu'";
    }
    return "";
  }
  const auto uses = inner.collectives();
  const bool reduces = std::ranges::any_of(uses, [&](const CollectiveUse& use) {
    return compressor.linear() ||
           (use.kind == CollectiveKind::all_reduce && use.communicator != families::node);
  });
  if (reduces) return "";
  // Hooks of FullyShardedDataParallel: reduce_scatter_hook, fp16_compress_hook and
  // bf16_compress_hook (torch/distributed/algorithms/_comm_hooks/default_hooks.py).
  const bool scatters =
      std::ranges::find(uses, CollectiveKind::reduce_scatter, &CollectiveUse::kind) != uses.end();
  return scatters
             ? "it reduce-scatters gradients, which casts alone go under; expected fp16 or bf16"
             : "the strategy exchanges no gradients by all-reduces or messages";
}

}  // namespace gradwire
