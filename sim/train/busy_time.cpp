#include "sim/train/busy_time.hpp"

#include <algorithm>
#include <cassert>

namespace gradwire {

void BusyTime::end(double start, double end) {
  ended_.push(start);
  assert(is_open() && first_open() <= ended_.top());
  while (!ended_.empty() && ended_.top() == first_open()) {
    ended_.pop();
    begun_.pop();
  }
  if (end <= start) return;
  while (!past_.empty() && past_.back().second >= start) {
    start = std::min(start, past_.back().first);
    total_ -= past_.back().second - past_.back().first;
    past_.pop_back();
  }
  past_.emplace_back(start, end);
  total_ += end - start;
}

void BusyTime::forget_before(double when) {
  // What is open may yet swallow what ended since it began.
  if (is_open()) when = std::min(when, first_open());
  while (!past_.empty() && past_.front().second < when) past_.pop_front();
}

double BusyTime::overlap(double from, double to) const {
  const double open = is_open() ? first_open() : to;
  double busy = std::max(0.0, to - std::max(from, open));
  to = std::min(to, open);
  for (auto past = past_.rbegin(); past != past_.rend() && past->second > from; ++past) {
    busy += std::max(0.0, std::min(to, past->second) - std::max(from, past->first));
  }
  return busy;
}

}  // namespace gradwire
