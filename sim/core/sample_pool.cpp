#include "sim/core/sample_pool.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace gradwire {

void SamplePool::add(double value, double count) {
  assert(value > 0 && std::isfinite(value) && count >= 1 && most_ >= 2);
  if (kept_.size() == most_) merge();
  kept_.push_back({value, count});
}

void SamplePool::copy_to(std::vector<double>& values, std::vector<double>& counts) const {
  values.clear();
  counts.clear();
  values.reserve(kept_.size());
  counts.reserve(kept_.size());
  for (const Sample& sample : kept_) {
    values.push_back(sample.value);
    counts.push_back(sample.count);
  }
}

void SamplePool::merge() {
  const auto less = [](const Sample& a, const Sample& b) { return a.value < b.value; };
  const auto added = kept_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(added, kept_.end(), less);
  std::inplace_merge(kept_.begin(), added, kept_.end(), less);
  merge_equal();
  // Half is left free, so that the next merge is as many samples away.
  while (kept_.size() > most_ / 2) {
    ++ignored_bits_;
    merge_equal();
  }
  sorted_ = kept_.size();
}

void SamplePool::merge_equal() {
  const auto place = [this](double value) {
    return std::bit_cast<std::uint64_t>(value) >> ignored_bits_;
  };
  std::size_t last = 0;
  for (std::size_t i = 1; i < kept_.size(); ++i) {
    Sample& to = kept_[last];
    const Sample from = kept_[i];
    if (place(from.value) != place(to.value)) {
      kept_[++last] = from;
      continue;
    }
    const double count = to.count + from.count;
    to = {to.value + (from.value - to.value) * (from.count / count), count};
  }
  kept_.resize(last + 1);
}

}  // namespace gradwire
