#include "sim/train/busy_time.hpp"

#include <algorithm>
#include <cassert>

namespace gradwire {

void BusyTime::begin(double start) {
  if (start > last_end_) {
    later_.push(start);
  } else {
    go_on(start);
  }
}

void BusyTime::end(double start, double end) {
  assert(start <= end && last_end_ <= end);
  last_end_ = end;
  for (; !later_.empty() && later_.top() <= end; later_.pop()) go_on(later_.top());
  assert(running_ > 0);
  --running_;
  if (end <= start) return;
  while (!past_.empty() && past_.back().second >= start) {
    start = std::min(start, past_.back().first);
    ended_ -= past_.back().second - past_.back().first;
    past_.pop_back();
  }
  past_.emplace_back(start, end);
  ended_ += end - start;
}

void BusyTime::forget_before(double when) {
  // What is open may yet swallow what ended since it began.
  if (is_open()) when = std::min(when, open_since());
  while (!past_.empty() && past_.front().second < when) past_.pop_front();
}

double BusyTime::until(double now) const {
  const double open = is_open() ? std::min(open_since(), now) : now;
  // What ended since then does not count twice.
  double busy = ended_ + now - open;
  for (auto past = past_.rbegin(); past != past_.rend() && past->second > open; ++past) {
    busy -= past->second - std::max(past->first, open);
  }
  return busy;
}

double BusyTime::overlap(double from, double to) const {
  const double open = is_open() ? open_since() : to;
  double busy = std::max(0.0, to - std::max(from, open));
  to = std::min(to, open);
  for (auto past = past_.rbegin(); past != past_.rend() && past->second > from; ++past) {
    busy += std::max(0.0, std::min(to, past->second) - std::max(from, past->first));
  }
  return busy;
}

}  // namespace gradwire
