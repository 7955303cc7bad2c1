#include "sim/train/schedules.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace gradwire {
namespace {

void forward(const PipelineStage& own, int micro, Program& program) {
  if (own.stage > 0) program.emplace_back(Receive{own.stage - 1});
  program.emplace_back(pass_of(Part::forward, micro, own.profile));
  if (own.stage + 1 < own.stages) program.emplace_back(Send{own.stage + 1, own.activations});
}

void backward(const PipelineStage& own, int micro, Program& program) {
  if (own.stage + 1 < own.stages) program.emplace_back(Receive{own.stage + 1});
  program.emplace_back(pass_of(Part::backward, micro, own.profile));
  if (own.stage > 0) program.emplace_back(Send{own.stage - 1, own.activations});
}

/// So many forward passes ahead, then forward and backward in turn.
Program ahead_by(const PipelineStage& own, int passes) {
  assert(0 <= own.stage && own.stage < own.stages && own.micro_batches >= 1);
  const int ahead = std::min(passes, own.micro_batches);
  Program program;
  for (int micro = 0; micro < ahead; ++micro) forward(own, micro, program);
  for (int micro = 0; micro < own.micro_batches; ++micro) {
    if (micro + ahead < own.micro_batches) forward(own, micro + ahead, program);
    backward(own, micro, program);
  }
  return program;
}

/// As many forward passes ahead as there are stages behind this one (PipeDream-Flush; Narayanan et
/// al., SC 2021, section 2.2.1).
Program one_forward_one_backward(const PipelineStage& own) {
  return ahead_by(own, own.stages - 1 - own.stage);
}

/// All forward passes, then all backward ones (Huang et al., NeurIPS 2019, section 2.3), these in
/// the order of PyTorch's ScheduleGPipe.
Program all_forward_all_backward(const PipelineStage& own) {
  return ahead_by(own, own.micro_batches);
}

constexpr std::array known = {
    PipelineSchedule{"1f1b", one_forward_one_backward},
    PipelineSchedule{"gpipe", all_forward_all_backward},
};

}  // namespace

std::span<const PipelineSchedule> schedules() {
  return known;
}

const PipelineSchedule& schedule_named(std::string_view name) {
  const auto* found = std::ranges::find(known, name, &PipelineSchedule::name);
  assert(found != known.end());
  return *found;
}

}  // namespace gradwire
