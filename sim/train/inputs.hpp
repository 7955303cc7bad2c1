#pragma once

#include <optional>

#include "sim/core/result.hpp"
#include "sim/train/job.hpp"

namespace gradwire {

/// What the input pipeline of the first machine takes for an iteration of all its ranks,
/// micro-batches included (RunSpec::input_rate); 0: it is never waited for.
[[nodiscard]] Seconds input_time(const Job& job);

/// A warning "waits-for-inputs" where iterations take as long as that.
[[nodiscard]] std::optional<Warning> input_warning(const Job& job, const RunResult& result);

}  // namespace gradwire
