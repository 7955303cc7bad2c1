// Iterations that repeat those before them: they are counted, not run.
#include <cstddef>

#include "sim/train/training_run.hpp"

namespace gradwire {
namespace {

/// So many iterations are noted to compare them; what repeats itself more rarely is run. Assumed.
constexpr int period_max = 32;

}  // namespace

void TrainingRun::watch_repeats() {
  // Draws of an iteration are its own; those that vary, ranks that run out of inputs and the
  // timeline's iteration are not the same as others.
  const bool may_repeat = job_.count_repeats && lanes_.size() == 1 && !independent_ &&
                          !job_.record_spans && job_.uneven_inputs.empty() &&
                          !lanes_.front().draws.vary();
  const int period = phasing_.period;
  // The first iteration is one of its own, two periods are compared, and the last one is run.
  if (may_repeat && period <= period_max && iterations() > 2 * period + 2) {
    repeats_.emplace(period);
  }
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
  // The iterations that were compared have to be of the phase that lasts, and those that count for
  // others have to be measured if these are.
  const int compared = lane.iteration + 1 - 2 * period;
  const bool warms_up = lane.iteration + 1 < job_.run.warmup;
  const int measured = lane.iteration + 1 - job_.run.warmup;
  if (!repeats_->is_steady() || phases_.first + compared < phasing_.steady_from) return;
  if (!warms_up && measured < period) return;
  const int last = (warms_up ? job_.run.warmup : iterations()) - 1;
  const int times = (last - lane.iteration - 1) / period;
  if (times <= 0) return;
  for (int ahead = 1; ahead <= times * period; ++ahead) {
    summary_.iteration_ended(0, summed_++, repeats_->samples(static_cast<std::size_t>(ahead)));
  }
  const Counted& since = counted_.front();
  summary_.count_again(since.totals, times, now() - since.time, moved() - since.moving);
  engine_->network().count_again(since.carried, times);
  counted_.clear();
  lane.iteration += times * period;
  counted_again_ += times * period;
  if (!warms_up) repeats_.reset();
}

}  // namespace gradwire
