#include "sim/collectives/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "sim/collectives/machines.hpp"
#include "sim/core/cluster.hpp"

namespace gradwire {
namespace {

/// Whether every rank exchanges as much as it gets with one other, listed by ranks.
bool is_exchange(const Round& round) {
  const auto count = static_cast<int>(round.messages.size());
  for (int rank = 0; rank < count; ++rank) {
    const ScheduledMessage& sent = round.messages[static_cast<std::size_t>(rank)];
    if (sent.source != rank || sent.destination >= count) return false;
    const ScheduledMessage& back = round.messages[static_cast<std::size_t>(sent.destination)];
    if (back.destination != rank || back.share != sent.share) return false;
  }
  return true;
}

}  // namespace

Schedule mirrored(const Schedule& schedule) {
  Schedule result(schedule.rbegin(), schedule.rend());
  for (Round& round : result) {
    if (is_exchange(round)) continue;
    for (ScheduledMessage& message : round.messages) std::swap(message.source, message.destination);
  }
  return result;
}

void append(Schedule& schedule, Schedule more) {
  std::move(more.begin(), more.end(), std::back_inserter(schedule));
}

void append_message(const Cluster& cluster, const Placement& members,
                    const ScheduledMessage& message, int group, Pattern& pattern) {
  const std::size_t begin = pattern.path_links.size();
  cluster.append_route(members[static_cast<std::size_t>(message.source)],
                       members[static_cast<std::size_t>(message.destination)], pattern.path_links);
  pattern.phases.back().flows.push_back(
      {.source = message.source,
       .destination = message.destination,
       .share = message.share,
       .group = group,
       .path_begin = static_cast<std::uint32_t>(begin),
       .path_size = static_cast<std::uint32_t>(pattern.path_links.size() - begin)});
}

Pattern lay_out(const Schedule& schedule, CollectiveKind kind, const std::string& algorithm,
                const Cluster& cluster, const Placement& members) {
  const bool is_alone = members.size() < 2;
  Pattern pattern;
  pattern.kind = kind;
  pattern.algorithm = algorithm;
  pattern.ranks = static_cast<int>(members.size());
  pattern.machines = static_cast<int>(machines_of(cluster, members).size());
  pattern.channels = is_alone ? 0 : 1;
  if (!is_alone) {
    std::vector<const Round*> laid;  // of each phase
    for (const Round& round : schedule) {
      if (round.messages.empty()) continue;
      const auto same =
          std::ranges::find_if(laid, [&](const Round* other) { return *other == round; });
      const auto known = static_cast<std::size_t>(same - laid.begin());
      laid.push_back(&round);
      if (known + 1 < laid.size()) {
        pattern.phases.push_back(pattern.phases[known]);
        continue;
      }
      pattern.phases.push_back({.flows = {}, .steps = round.steps});
      pattern.phases.back().flows.reserve(round.messages.size());
      for (const ScheduledMessage& message : round.messages) {
        append_message(cluster, members, message, 0, pattern);
      }
    }
  }
  pattern.seal();
  return pattern;
}

}  // namespace gradwire
