#pragma once

#include <cstdint>
#include <span>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/step_layers.hpp"
#include "calibration/attribution/trace_index.hpp"

namespace gradwire::calibration {

/// The device time of one iteration by what it was for.
/// @param records  of the iteration, indices into Trace::device, by start.
/// @param marks    of the iteration, by time.
[[nodiscard]] IterationTimes step_times(const TraceIndex& index, const StepLayers& layers,
                                        std::span<const std::uint32_t> records,
                                        std::span<const MarkRecord> marks);

}  // namespace gradwire::calibration
