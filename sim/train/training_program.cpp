// What a program does beside computing: its collectives, and its messages to other classes of
// ranks.
#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>

#include "sim/train/training_run.hpp"

namespace gradwire {
namespace {

/// An instance's stream of what its program moves by a family of groups; a strategy's own have
/// numbers above 0.
int stream_of(FamilyId family) {
  return -1 - static_cast<int>(family);
}

}  // namespace

void TrainingRun::post(std::size_t number, const Communication& communication) {
  WorkerLane& lane = lanes_[number];
  lane.host += launch_call;
  const OperationId moves =
      std::visit([&](const auto& step) { return post(number, step); }, communication);
  const OperationId here = log_.add();
  meeting_of_[here] = moves;
  lane.workers.post_mark(here);
  const auto* collective = std::get_if<GroupCollective>(&communication);
  if (std::holds_alternative<Receive>(communication) ||
      (collective != nullptr && collective->blocking)) {
    lane.workers.post_gate({moves});
  }
  dirty_.insert(lane.number);
}

OperationId TrainingRun::post(std::size_t number, const GroupCollective& collective) {
  const std::size_t own = lanes_[number].instance;
  const std::string label(name_of(collective.kind));
  const OperationId id = log_.add(job_.record_spans ? label : std::string());
  meetings_[id].moves =
      moving(id, {own, own}, {collective.kind, collective.family}, collective.size, label);
  return id;
}

OperationId TrainingRun::post(std::size_t number, const Send& send) {
  const std::size_t from = lanes_[number].instance;
  const auto to = static_cast<std::size_t>(send.to);
  const OperationId id = next_message(from, to, true);
  meetings_[id].moves =
      moving(id, {from, to}, Plans::send_to(job_, send.to), send.size, log_.label(id));
  return id;
}

OperationId TrainingRun::post(std::size_t number, const Receive& receive) {
  return next_message(static_cast<std::size_t>(receive.from), lanes_[number].instance, false);
}

OperationId TrainingRun::next_message(std::size_t from, std::size_t to, bool sends) {
  Messenger& messenger = messengers_[{from, to}];
  auto& posted = messenger.posted;
  if (!posted.empty() && messenger.by_sender != sends) {
    const OperationId id = posted.front();
    posted.pop_front();
    return id;
  }
  const OperationId id = log_.add(job_.record_spans ? fmt::format("message from {} to {}",
                                                                  job_.rank_classes[from].name,
                                                                  job_.rank_classes[to].name)
                                                    : std::string());
  posted.push_back(id);
  messenger.by_sender = sends;
  meetings_[id].missing = 2;
  return id;
}

std::optional<MovingData> TrainingRun::moving(OperationId id,
                                              const std::array<std::size_t, 2>& ends,
                                              const CollectiveUse& use, Bytes size,
                                              const std::string& label) {
  const Plans::Choice* choice = choose_posted(instances_[ends[0]], use, size);
  if (choice == nullptr) return std::nullopt;
  return MovingData{.id = id,
                    .pattern = choice->pattern,
                    .cost = &choice->cost,
                    .size = size,
                    .tensors = {},
                    .label = label,
                    .ends = ends,
                    .stream = stream_of(use.communicator),
                    .kernel = ends[0] == ends[1] && job_.library.on_gpu()};
}

void TrainingRun::arrived(OperationId mark) {
  const auto here = meeting_of_.find(mark);
  if (here == meeting_of_.end()) return;
  const auto found = meetings_.find(here->second);
  meeting_of_.erase(here);
  if (--found->second.missing > 0) return;
  const OperationId id = found->first;
  std::optional<MovingData> moves = std::move(found->second.moves);
  meetings_.erase(found);
  if (moves) {
    queue(std::move(*moves));
  } else {
    end_now(id);
  }
}

}  // namespace gradwire
