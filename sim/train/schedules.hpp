#pragma once

#include <span>
#include <string_view>

#include "sim/core/compute_profile.hpp"
#include "sim/core/units.hpp"
#include "sim/train/program.hpp"

namespace gradwire {

/// One stage of a pipeline, in which the k-th class of the job's ranks is the k-th stage.
struct PipelineStage {
  const ComputeProfile& profile;  ///< of its layers, for one micro-batch
  int stage = 0;                  ///< from 0
  int stages = 1;
  int micro_batches = 1;
  Bytes activations{0};  ///< of a micro-batch, to the next stage; their gradients come back
};

/// In which order a stage computes its micro-batches: backward in rising order, since gradients are
/// exchanged in the last number's. Messages leave when they are computed, on streams of their own;
/// each is received where the pass begins that needs it.
struct PipelineSchedule {
  std::string_view name;  ///< as the literature has it; no scenario names one yet
  Program (*program)(const PipelineStage& stage);
};

/// All there are.
[[nodiscard]] std::span<const PipelineSchedule> schedules();

/// REQUIRES: one of schedules() is named so.
[[nodiscard]] const PipelineSchedule& schedule_named(std::string_view name);

}  // namespace gradwire
