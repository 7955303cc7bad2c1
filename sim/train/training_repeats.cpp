// Iterations that repeat those before them: they are counted, not run.
#include <algorithm>
#include <cstddef>

#include "sim/train/run_clock.hpp"
#include "sim/train/training_run.hpp"

namespace gradwire {
namespace {

/// So many iterations are noted to compare them; what repeats itself more rarely is run. Assumed.
constexpr int period_max = 32;

}  // namespace

void TrainingRun::watch_repeats() {
  // Draws of an iteration are its own; those that vary, ranks that run out of inputs and the
  // timeline's iteration are not the same as others.
  const bool may_repeat =
      job_.count_repeats && lanes_.size() == 1 && !independent_ && !job_.record_spans &&
      job_.uneven_inputs.empty() &&
      std::ranges::none_of(lanes_, [](const WorkerLane& lane) { return lane.draws.vary(); });
  const int period = phasing_.period;
  if (may_repeat && period <= period_max && iterations() > 2 * period)
    repeats_.emplace(period, run_begins, job_.run.input_rate > 0);
}

void TrainingRun::count_repeats(WorkerLane& lane) {
  if (!repeats_) return;
  repeats_->iteration_ended(now(), log_.next(), lane.workers.samples());
  counted_.push_back({.time = now(),
                      .moving = moved(),
                      .totals = summary_.totals(),
                      .carried = engine_->network().carried()});
  const int period = phasing_.period;
  if (static_cast<int>(counted_.size()) <= period) return;
  if (static_cast<int>(counted_.size()) > period + 1) counted_.pop_front();
  // The iterations that were compared have to be of the phase that lasts.
  const int run = lane.iteration + 1;
  if (!repeats_->is_steady() || phases_.first + run - 2 * period < phasing_.steady_from) return;
  const int warming = std::max(0, job_.run.warmup - run);
  if (warming % period != 0) return;  // measuring begins with a period
  const int measured = (iterations() - run - warming) / period;
  int ahead = 0;
  const auto end_iterations = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto& samples = repeats_->samples(static_cast<std::size_t>(++ahead));
      if (!summary_.iteration_ended(0, summed_++, samples)) continue;
      summary_.count_from(engine_->network(), engine_->now(), moved());
    }
  };
  end_iterations(warming);
  const Counted& since = counted_.front();
  summary_.count_again(since.totals, {.warming = warming / period,
                                      .measured = measured,
                                      .lasted = now() - since.time,
                                      .moving = moved() - since.moving});
  engine_->network().count_again(since.carried, measured);
  end_iterations(measured * period);
  lane.iteration += ahead;
  counted_again_ += ahead;
  repeats_.reset();
}

}  // namespace gradwire
