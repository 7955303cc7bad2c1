#include "sim/train/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace gradwire {

void Repeats::settle_deeds() {
  auto& deeds = now_.deeds;
  deeds.resize(static_cast<std::size_t>(now_.operations));
  std::unordered_map<int, OperationId> posted;  // by queue; looked up, never walked
  std::map<OperationId, Deed> open;
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    if (!deeds[i].pattern) deeds[i].number = posted[deeds[i].queue]++;
    if (deeds[i].ended == not_yet) open.emplace(now_.first + static_cast<OperationId>(i), deeds[i]);
  }
  for (auto& [operation, deed] : open_) {
    if (deed.ended == not_yet) {
      open.emplace(operation, deed);
    } else {
      deed.posted = deed.began = not_yet;  // what has ended is past
    }
    deed.number = deed.pattern ? 0 : operation - now_.first;
    deeds.push_back(deed);
  }
  open_ = std::move(open);
  for (Deed& deed : deeds) {
    for (double* when : {&deed.posted, &deed.began, &deed.ended}) {
      if (*when != not_yet) *when -= now_.start;
    }
  }
  std::ranges::sort(deeds);
}

void Repeats::iteration_ended(double now, OperationId next,
                              const std::vector<IterationSample>& samples) {
  now_.lasted = now - now_.start;
  now_.operations = next - now_.first;
  now_.samples = samples;
  settle_deeds();
  alike_ = past_.size() == period_ && same(now_, past_.front()) ? alike_ + 1 : 0;
  past_.push_back(std::move(now_));
  if (past_.size() > period_) past_.pop_front();
  now_ = {};
  now_.start = now;
  now_.first = next;
  now_.deeds.reserve(past_.back().deeds.size());
}

bool Repeats::same(const Iteration& one, const Iteration& other) const {
  const double within = same_time * one.lasted;
  const auto about = [within](double a, double b) { return std::abs(a - b) <= within; };
  if (one.operations != other.operations || !about(one.lasted, other.lasted)) return false;
  const auto same_samples = [&](const IterationSample& a, const IterationSample& b) {
    return about(a.end - one.start, b.end - other.start) &&
           (!by_starts_ || about(a.start - one.start, b.start - other.start));
  };
  if (!std::ranges::equal(one.samples, other.samples, same_samples)) return false;
  // How much later the first launcher began its iteration.
  const double later =
      (other.samples.front().start - other.start) - (one.samples.front().start - one.start);
  const auto as_late = [&](double a, double b) { return about(a, b) || about(a + later, b); };
  return std::ranges::equal(one.deeds, other.deeds, [&](const Deed& a, const Deed& b) {
    return a.pattern == b.pattern && a.queue == b.queue && a.number == b.number &&
           a.bytes == b.bytes && as_late(a.posted, b.posted) && as_late(a.began, b.began) &&
           as_late(a.ended, b.ended);
  });
}

}  // namespace gradwire
