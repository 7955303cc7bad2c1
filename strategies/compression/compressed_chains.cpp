#include "strategies/compression/compressed.hpp"

#include <algorithm>
#include <utility>

namespace gradwire {
namespace {

/// Coded messages that wait for their connection travel together up to this: a socket takes what is
/// ready in one go. Assumed.
constexpr Bytes joined_at_most{1 << 20};

}  // namespace

std::int64_t Compressed::add_chain(int stream) {
  const std::int64_t id = chain_count_++;
  Chain chain{.inner = static_cast<OperationId>(links_.size()), .stream = stream};
  chain.flag = poster_.post(Flag{"compressed"});
  links_.push_back({.operation = chain.flag});
  if (stream > 0) turns_[stream].push_back(id);
  chains_running_.emplace(id, std::move(chain));
  return id;
}

void Compressed::add_steps(Chain& chain, const std::vector<CodecWork>& work) {
  chain.steps.insert(chain.steps.end(), work.begin(), work.end());
}

void Compressed::start_chain(const Collective& collective, const Recipe& recipe) {
  const bool behind = collective.ready == Collective::Ready::behind_compute;
  const bool transfers =
      std::ranges::any_of(recipe.rounds, [](const CodecRound& r) { return !r.transfers.empty(); });
  const std::int64_t id = add_chain(transfers ? chain_stream(collective) : 0);
  Chain& chain = chains_running_.at(id);
  auto encode = recipe.encode;
  if (behind) {
    // What a hook launches on the GPU stands on the compute stream, behind the gradients.
    const auto away = std::ranges::find_if(
        encode, [](const CodecWork& work) { return work.place != CodecWork::Place::gpu; });
    for (auto work = encode.begin(); work != away; ++work) {
      poster_.post(kernels(*work, DeviceStream::compute, false));
    }
    encode.erase(encode.begin(), away);
  }
  add_steps(chain, encode);
  for (const auto& round : recipe.rounds) {
    if (!round.transfers.empty()) {
      std::vector<Operation> operations;
      operations.reserve(round.transfers.size());
      for (const auto& one : round.transfers) operations.push_back(transfer(collective, one));
      chain.last_transfers = chain.steps.size();
      chain.steps.emplace_back(std::move(operations));
    }
    add_steps(chain, round.work);
  }
  if (behind || chain.steps.empty()) {
    poster_.post(
        DeviceWork{.kind = WorkKind::encode, .kernels = 0, .label = "ready", .notify = true},
        goes_on(id));
    chain.missing = 1;
  } else {
    advance(id);
  }
  if (recipe.holds_compute) poster_.post(Gate{{chains_running_.at(id).flag}});
}

void Compressed::start_chain(const Messages& messages, const Payload& payload) {
  const std::int64_t id = add_chain(0);
  Chain& chain = chains_running_.at(id);
  Messages smaller = messages;
  smaller.size = payload.size;
  chain.pools = ends_[static_cast<std::size_t>(messages.exchange)];
  chain.server = messages.server;
  if (!chain.server || !chain.server->sends) add_steps(chain, payload.correct);
  add_steps(chain, payload.encode);
  chain.last_transfers = chain.steps.size();
  chain.steps.emplace_back(std::vector<Operation>{std::move(smaller)});
  const double times = fan_in_[static_cast<std::size_t>(messages.exchange)];
  for (CodecWork work : payload.decode) {
    if (work.place == CodecWork::Place::cpu) work.time = times * work.time;
    chain.steps.emplace_back(std::move(work));
  }
  advance(id);
}

void Compressed::advance(std::int64_t id) {
  Chain& chain = chains_running_.at(id);
  if (chain.next == chain.steps.size()) {
    poster_.post(Raise{chain.flag});
    const OperationId inner = chain.inner;
    chains_running_.erase(id);
    ask(OperationDone{inner});
    return;
  }
  Step& step = chain.steps[chain.next];
  const bool needs_turn = chain.stream > 0 && std::holds_alternative<std::vector<Operation>>(step);
  chain.waits_for_turn = needs_turn && turns_[chain.stream].front() != id;
  if (chain.waits_for_turn) return;
  const bool last = chain.next++ == chain.last_transfers;
  post_step(id, step);
  if (needs_turn && last) end_turn(chain.stream);
}

void Compressed::post_step(std::int64_t id, Step& step) {
  Chain& chain = chains_running_.at(id);
  if (const auto* work = std::get_if<CodecWork>(&step)) {
    chain.missing = 1;
    if (work->place == CodecWork::Place::gpu) {
      poster_.post(kernels(*work, DeviceStream::side, true), goes_on(id));
    } else {
      run_on_host(id, *work);
    }
    return;
  }
  auto& operations = std::get<std::vector<Operation>>(step);
  chain.missing = static_cast<int>(operations.size());
  auto* messages = std::get_if<Messages>(&operations.front());
  if (messages != nullptr && messages->priority) {
    const int exchange = messages->exchange;
    connections_.try_emplace(exchange, poster_, messages_by(exchange), joined_at_most)
        .first->second.add({.size = messages->size,
                            .tensors = std::move(messages->tensors),
                            .label = std::move(messages->label),
                            .priority = *messages->priority,
                            .then = goes_on(id)});
    return;
  }
  for (auto& operation : operations) poster_.post(std::move(operation), goes_on(id));
}

void Compressed::step_ended(std::int64_t id) {
  Chain& chain = chains_running_.at(id);
  if (--chain.missing > 0) return;
  const int thread = std::exchange(chain.thread, -1);
  if (thread >= 0) {
    pools_[chain.pool()].free.insert(thread);
    run_waiting(chain.pool());
  }
  advance(id);
}

void Compressed::end_turn(int stream) {
  auto& turns = turns_[stream];
  turns.pop_front();
  if (!turns.empty() && chains_running_.at(turns.front()).waits_for_turn) advance(turns.front());
}

void Compressed::run_on_host(std::int64_t id, const CodecWork& work) {
  if (work.place == CodecWork::Place::bus || independent_) {
    // Of independent workers each has threads of its own.
    const int thread = independent_ ? HostWork::no_thread : threads_;
    poster_.post(
        HostWork{
            .thread = thread, .time = work.time, .label = work.label, .estimate = work.estimate},
        goes_on(id));
    return;
  }
  const Chain& chain = chains_running_.at(id);
  if (chain.server && chain.server->sends == chain.sends()) {
    poster_.post(HostWork{.thread = own_threads_ + chain.server->thread,
                          .time = work.time,
                          .label = work.label,
                          .estimate = work.estimate},
                 goes_on(id));
    return;
  }
  const std::size_t pool = chain.pool();
  pools_[pool].waiting.push_back(id);
  run_waiting(pool);
}

void Compressed::run_waiting(std::size_t pool) {
  auto& [free, waiting] = pools_[pool];
  while (!free.empty() && !waiting.empty()) {
    const std::int64_t id = waiting.front();
    waiting.pop_front();
    Chain& chain = chains_running_.at(id);
    chain.thread = free.extract(free.begin()).value();
    const auto& work = std::get<CodecWork>(chain.steps[chain.next - 1]);
    poster_.post(HostWork{.thread = chain.thread,
                          .time = work.time,
                          .label = work.label,
                          .estimate = work.estimate},
                 goes_on(id));
  }
}

}  // namespace gradwire
