#include "sim/train/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gradwire {

void Repeats::ended(OperationId operation, double when) {
  const auto moved = moving_.find(operation);
  if (moved == moving_.end()) return note(operation, {}, ended_then, when);
  note(operation, moved->second, ended_then, when);
  moving_.erase(moved);
}

void Repeats::tell_apart() {
  constexpr OperationId moves = -1;
  std::vector<std::optional<PatternId>> patterns(static_cast<std::size_t>(now_.operations));
  for (const Note& one : now_.notes) {
    if (one.pattern && one.operation >= 0)
      patterns[static_cast<std::size_t>(one.operation)] = one.pattern;
  }
  std::vector<OperationId> numbers;
  numbers.reserve(patterns.size());
  now_.queues.resize(patterns.size(), 0);
  std::unordered_map<int, OperationId> still;  // by queue; looked up, never walked
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    numbers.push_back(patterns[i] ? moves : still[now_.queues[i]]++);
  }
  for (Note& one : now_.notes) {
    const bool is_new = one.operation >= 0;
    const auto index = static_cast<std::size_t>(one.operation);
    if (is_new && !one.pattern) one.pattern = patterns[index];
    if (one.pattern) {
      one.operation = moves;
    } else if (is_new) {
      one.queue = now_.queues[index];
      one.operation = numbers[index];
    }
  }
}

void Repeats::iteration_ended(double now, OperationId next,
                              const std::vector<IterationSample>& samples) {
  now_.lasted = now - now_.start;
  now_.operations = next - now_.first;
  now_.samples = samples;
  tell_apart();
  std::ranges::sort(now_.notes);
  alike_ = past_.size() == period_ && same(now_, past_.front()) ? alike_ + 1 : 0;
  past_.push_back(std::move(now_));
  if (past_.size() > period_) past_.pop_front();
  now_ = {};
  now_.start = now;
  now_.first = next;
  now_.notes.reserve(past_.back().notes.size());
}

bool Repeats::same(const Iteration& one, const Iteration& other) {
  const double within = same_time * one.lasted;
  const auto about = [within](double a, double b) { return std::abs(a - b) <= within; };
  if (one.operations != other.operations || !about(one.lasted, other.lasted)) return false;
  const bool same_notes =
      std::ranges::equal(one.notes, other.notes, [&](const Note& a, const Note& b) {
        return a.pattern == b.pattern && a.queue == b.queue && a.operation == b.operation &&
               a.bytes == b.bytes && about(a.when, b.when);
      });
  return same_notes &&
         std::ranges::equal(one.samples, other.samples,
                            [&](const IterationSample& a, const IterationSample& b) {
                              return about(a.start - one.start, b.start - other.start) &&
                                     about(a.end - one.start, b.end - other.start) &&
                                     std::ranges::equal(a.parts, b.parts, about);
                            });
}

}  // namespace gradwire
