#include "sim/train/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace gradwire {

void Repeats::iteration_ended(double now, OperationId next,
                              const std::vector<IterationSample>& samples) {
  now_.lasted = now - now_.start;
  now_.operations = next - now_.first;
  now_.samples = samples;
  std::ranges::sort(now_.notes, {},
                    [](const Note& one) { return std::tuple(one.operation, one.what, one.when); });
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
        return a.operation == b.operation && a.what == b.what && a.bytes == b.bytes &&
               about(a.when, b.when);
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
