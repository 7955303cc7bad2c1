#include "strategies/compression/compressed.hpp"

#include <algorithm>
#include <utility>

namespace gradwire {

std::int64_t Compressed::add_chain(int stream) {
  const std::int64_t id = chain_count_++;
  Chain chain{.inner = static_cast<OperationId>(links_.size()), .stream = stream};
  chain.flag = post(Flag{"compressed"});
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
      post(kernels(*work, DeviceStream::compute, false));
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
    post_for({Owner::Kind::chain, id},
             DeviceWork{.kind = WorkKind::encode, .kernels = 0, .label = "ready", .notify = true});
    chain.missing = 1;
  } else {
    advance(id);
  }
  if (recipe.holds_compute) post(Gate{{chains_running_.at(id).flag}});
}

void Compressed::start_chain(const Messages& messages, const Payload& payload) {
  const std::int64_t id = add_chain(0);
  Chain& chain = chains_running_.at(id);
  Messages smaller = messages;
  smaller.size = payload.size;
  add_steps(chain, payload.encode);
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
    post(Raise{chain.flag});
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
  const Owner owner{Owner::Kind::chain, id};
  if (const auto* work = std::get_if<CodecWork>(&step)) {
    chain.missing = 1;
    post_for(owner, on_device(*work, id));
    return;
  }
  auto& operations = std::get<std::vector<Operation>>(step);
  chain.missing = static_cast<int>(operations.size());
  for (auto& operation : operations) post_for(owner, std::move(operation));
}

void Compressed::end_turn(int stream) {
  auto& turns = turns_[stream];
  turns.pop_front();
  if (!turns.empty() && chains_running_.at(turns.front()).waits_for_turn) advance(turns.front());
}

Operation Compressed::on_device(const CodecWork& work, std::int64_t chain) const {
  if (work.place == CodecWork::Place::gpu) return kernels(work, DeviceStream::side, true);
  const bool bus = work.place == CodecWork::Place::bus;
  int thread = bus ? threads_ : static_cast<int>(chain % threads_);
  if (independent_) thread = HostWork::no_thread;  // each worker has threads of its own
  return HostWork{.thread = thread, .time = work.time, .label = work.label};
}

}  // namespace gradwire
