#include "sim/train/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.hpp"

namespace gradwire {
namespace {

void check_ranks(const std::vector<RankClass>& classes, int ranks) {
  std::vector<int> times(static_cast<std::size_t>(ranks), 0);
  std::set<std::size_t> sizes;
  for (const RankClass& own : classes) {
    for (const ProcessGroup& group : own.data_parallel) {
      sizes.insert(group.ranks.size());
      for (const int rank : group.ranks) {
        if (rank < 0 || rank >= ranks) {
          throw SimulationError(fmt::format("{} has rank {} of {}", own.name, rank, ranks));
        }
        ++times[static_cast<std::size_t>(rank)];
      }
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const int count = times[static_cast<std::size_t>(rank)];
    if (count == 1) continue;
    throw SimulationError(fmt::format("rank {} is in {} classes; expected 1", rank, count));
  }
  if (sizes.size() != 1 || sizes.contains(0)) {
    throw SimulationError("data-parallel groups of several sizes, or of none; expected one size");
  }
}

void check_passes(const RankClass& own) {
  const int layers = static_cast<int>(own.profile.layers.size());
  std::map<int, int> backward_done;  // the last micro-batch, by first layer
  for (const ProgramStep& step : own.program) {
    const auto* pass = std::get_if<ComputePass>(&step);
    if (pass == nullptr) continue;
    if (pass->first_layer < 0 || pass->first_layer > pass->end_layer || pass->end_layer > layers) {
      throw SimulationError(fmt::format("{} computes layers {} to {} of {}", own.name,
                                        pass->first_layer, pass->end_layer, layers));
    }
    if (pass->part != Part::backward) continue;
    const auto [last, is_first] = backward_done.emplace(pass->first_layer, pass->micro_batch);
    if (!is_first && pass->micro_batch < last->second) {
      throw SimulationError(fmt::format(
          "{} computes backward of micro-batch {} behind {}'s; expected a rising order, "
          "for gradients are exchanged in the last number's",
          own.name, pass->micro_batch, last->second));
    }
    last->second = pass->micro_batch;
  }
}

/// Messages that are sent, less those that are received, by from and to.
std::map<std::pair<int, int>, int> messages_of(const std::vector<RankClass>& classes) {
  const int count = static_cast<int>(classes.size());
  std::map<std::pair<int, int>, int> messages;
  for (int own = 0; own < count; ++own) {
    const RankClass& rank_class = classes[static_cast<std::size_t>(own)];
    const auto check = [&](int other) {
      if (other >= 0 && other < count && other != own) return;
      throw SimulationError(
          fmt::format("{} exchanges messages with class {}; expected another one "
                      "of the {} there are",
                      rank_class.name, other, count));
    };
    for (const ProgramStep& step : rank_class.program) {
      if (const auto* send = std::get_if<Send>(&step)) {
        check(send->to);
        ++messages[{own, send->to}];
      } else if (const auto* receive = std::get_if<Receive>(&step)) {
        check(receive->from);
        --messages[{receive->from, own}];
      }
    }
  }
  return messages;
}

}  // namespace

ComputePass pass_of(Part part, int micro_batch, const ComputeProfile& profile) {
  return {.part = part,
          .micro_batch = micro_batch,
          .first_layer = 0,
          .end_layer = static_cast<int>(profile.layers.size())};
}

Program data_parallel_program(const ComputeProfile& profile, int micro_batches) {
  Program program;
  for (int micro = 0; micro < micro_batches; ++micro) {
    program.emplace_back(pass_of(Part::forward, micro, profile));
    program.emplace_back(pass_of(Part::backward, micro, profile));
  }
  return program;
}

int micro_batches_of(const Program& program) {
  int most = 0;
  for (const ProgramStep& step : program) {
    if (const auto* pass = std::get_if<ComputePass>(&step)) {
      most = std::max(most, pass->micro_batch + 1);
    }
  }
  return most;
}

int micro_batches_kept(const Program& program) {
  std::set<int> kept;
  std::size_t most = 0;
  for (const ProgramStep& step : program) {
    const auto* pass = std::get_if<ComputePass>(&step);
    if (pass == nullptr) continue;
    if (pass->part == Part::forward) {
      kept.insert(pass->micro_batch);
      most = std::max(most, kept.size());
    } else if (pass->first_layer == 0) {
      kept.erase(pass->micro_batch);
    }
  }
  return static_cast<int>(most);
}

Seconds device_time_of(const Program& program, const ComputeProfile& profile) {
  Seconds time = profile.step();
  for (const ProgramStep& step : program) {
    const auto* pass = std::get_if<ComputePass>(&step);
    if (pass == nullptr) continue;
    for (int l = pass->first_layer; l < pass->end_layer; ++l) {
      const LayerProfile& layer = profile.layers[static_cast<std::size_t>(l)];
      time += pass->part == Part::forward ? layer.forward : layer.backward;
    }
  }
  return time;
}

void check_classes(const std::vector<RankClass>& classes, int ranks) {
  check_ranks(classes, ranks);
  const RankClass& first = classes.front();
  for (const RankClass& own : classes) {
    check_passes(own);
    if (micro_batches_of(own.program) == micro_batches_of(first.program)) continue;
    throw SimulationError(fmt::format("{} has {} micro-batches; expected the {} of {}", own.name,
                                      micro_batches_of(own.program),
                                      micro_batches_of(first.program), first.name));
  }
  for (const auto& [ends, more] : messages_of(classes)) {
    const RankClass& from = classes[static_cast<std::size_t>(ends.first)];
    const RankClass& to = classes[static_cast<std::size_t>(ends.second)];
    if (more != 0) {
      throw SimulationError(fmt::format("{} sends {} messages {} than {} receives", from.name,
                                        std::abs(more), more > 0 ? "more" : "fewer", to.name));
    }
    if (from.data_parallel.size() != to.data_parallel.size()) {
      throw SimulationError(
          fmt::format("{} sends to {}, which has another number of ranks", from.name, to.name));
    }
  }
}

}  // namespace gradwire
