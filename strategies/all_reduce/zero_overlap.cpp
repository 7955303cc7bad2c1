#include "strategies/all_reduce/zero_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/gradient_groups.hpp"

namespace gradwire {
namespace {

/// NCCL's stream, of what is posted when it is known to be ready.
constexpr int zero_stream = 1;

/// The rank with the fewest elements that has no part of this bucket yet.
int next_rank(const std::vector<std::int64_t>& elements, const std::vector<ZeroPart>& parts) {
  int next = -1;
  for (int rank = 0; rank < static_cast<int>(elements.size()); ++rank) {
    if (std::ranges::find(parts, rank, &ZeroPart::rank) != parts.end()) continue;
    const auto of = [&](int one) { return elements[static_cast<std::size_t>(one)]; };
    if (next < 0 || of(rank) < of(next)) next = rank;
  }
  if (next < 0) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("'shard_buckets' cuts a bucket into more parts than there are ranks ({}), "
                    "where PyTorch stops; expected a smaller 'bucket_cap'",
                    elements.size()));
  }
  return next;
}

/// Cuts a bucket where a part would reach `threshold` elements.
std::vector<ZeroPart> cut(const JobView& job, const std::vector<TensorId>& bucket, double threshold,
                          std::vector<std::int64_t>& elements) {
  std::vector<ZeroPart> parts;
  ZeroPart open;
  const auto close = [&] {
    open.rank = next_rank(elements, parts);
    elements[static_cast<std::size_t>(open.rank)] += open.elements;
    parts.push_back(std::exchange(open, {}));
  };
  for (const TensorId id : bucket) {
    const std::int64_t own = job.tensor(id).elements;
    if (!open.tensors.empty() && static_cast<double>(open.elements + own) >= threshold) close();
    open.tensors.push_back(id);
    open.elements += own;
  }
  close();
  std::ranges::sort(parts, {}, &ZeroPart::rank);
  return parts;
}

}  // namespace

std::vector<std::vector<ZeroPart>> parts_of_buckets(
    const JobView& job, const std::vector<std::vector<TensorId>>& buckets, bool shard) {
  std::vector<std::vector<ZeroPart>> parts(buckets.size());
  std::vector<std::int64_t> sizes;
  sizes.reserve(buckets.size());
  for (const auto& bucket : buckets) sizes.push_back(group_of(job, bucket).elements);
  if (!shard) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const int rank = static_cast<int>(b % static_cast<std::size_t>(job.world_size));
      parts[b].push_back({.rank = rank, .tensors = buckets[b], .elements = sizes[b]});
    }
    return parts;
  }
  const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const double threshold = static_cast<double>(all) / job.world_size;
  std::vector<std::int64_t> elements(static_cast<std::size_t>(job.world_size), 0);
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t b) { return sizes[b]; });
  for (const std::size_t b : order) parts[b] = cut(job, buckets[b], threshold, elements);
  return parts;
}

ZeroOverlap::ZeroOverlap(ZeroHook hook, bool shard_buckets, const JobView& job, Poster& poster,
                         const Seconds& now)
    : hook_(hook), shard_buckets_(shard_buckets), job_(&job), poster_(&poster), now_(&now) {
  for (const auto& tensor : job.tensors) elements_ += tensor.elements;
  assert(hook != ZeroHook::none);
}

void ZeroOverlap::start(const std::vector<std::vector<TensorId>>& buckets) {
  auto parts = parts_of_buckets(*job_, buckets, shard_buckets_);
  buckets_.clear();
  broadcasts_left_ = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    broadcasts_left_ += parts[b].size();
    buckets_.push_back({.tensors = buckets[b],
                        .size = group_of(*job_, buckets[b]).size,
                        .parts = std::move(parts[b])});
  }
  steps_.assign(static_cast<std::size_t>(job_->world_size), 0);
  most_ = 0;
  launched_ = computed_ = reducing_ = reduced_ = stepping_ = stepped_ = broadcasting_ = 0;
}

Collective ZeroOverlap::all_reduce(std::size_t bucket) const {
  return {.size = buckets_[bucket].size,
          .tensors = buckets_[bucket].tensors,
          .label = fmt::format("bucket {}", bucket)};
}

OperationId ZeroOverlap::launch() {
  const std::size_t bucket = launched_++;
  if (bucket == 0) updated_ = poster_->post(Flag{.label = "all parameters are broadcast"});
  if (hook_ == ZeroHook::interleaved) {
    poster_->post(launch_marker("gradients of a bucket are there"), [this] {
      ++computed_;
      go_on();
    });
    buckets_[bucket].passed =
        poster_->post(Flag{.label = fmt::format("step on bucket {}", bucket)});
    return buckets_[bucket].passed;
  }
  const OperationId reduced = poster_->post(all_reduce(bucket), [this] { this->reduced(); });
  if (launched_ == buckets_.size()) {
    poster_->post(launch_marker("backward has ended"), [this] {
      computed_ = buckets_.size();
      go_on();
    });
  }
  return reduced;
}

void ZeroOverlap::reduced() {
  ++reduced_;
  go_on();
}

void ZeroOverlap::stepped() {
  if (hook_ == ZeroHook::interleaved) poster_->post(Raise{.flag = buckets_[stepped_].passed});
  ++stepped_;
  go_on();
}

void ZeroOverlap::go_on() {
  const bool interleaved = hook_ == ZeroHook::interleaved;
  const std::size_t all = buckets_.size();
  while (interleaved && stepping_ < reduced_) step_beside_backward();
  while (stepping_ < reduced_ && computed_ == all) step();
  while (broadcasting_ < stepped_ && (interleaved || reduced_ == all)) broadcast();
  while (interleaved && reducing_ < computed_ && reducing_ == broadcasting_) {
    Collective collective = all_reduce(reducing_++);
    collective.ready = Collective::Ready::at_once;
    collective.stream = zero_stream;
    poster_->post(std::move(collective), [this] { this->reduced(); });
  }
}

double ZeroOverlap::seconds_of(const ZeroPart& part) const {
  return static_cast<double>(part.elements) / static_cast<double>(elements_) *
         job_->optimizer.count();
}

void ZeroOverlap::occupy(double seconds, Poster::Then then) {
  poster_->post(DeviceWork{.kernels = 0,
                           .label = fmt::format("step on bucket {}", stepping_ - 1),
                           .time = Seconds{seconds},
                           .stream = DeviceStream::side,
                           .notify = true},
                std::move(then));
}

void ZeroOverlap::step() {
  const double now = now_->count();
  const double before = std::max(now, most_);
  for (const ZeroPart& part : buckets_[stepping_++].parts) {
    double& end = steps_[static_cast<std::size_t>(part.rank)];
    end = std::max(now, end) + seconds_of(part);
    most_ = std::max(most_, end);
  }
  occupy(std::max(0.0, most_ - before), [this] { stepped(); });
}

void ZeroOverlap::step_beside_backward() {
  const double before = most_;
  double longest = 0;
  for (const ZeroPart& part : buckets_[stepping_++].parts) {
    double& taken = steps_[static_cast<std::size_t>(part.rank)];
    taken += seconds_of(part);
    most_ = std::max(most_, taken);
    longest = std::max(longest, seconds_of(part));
  }
  rest_ = longest - (most_ - before);
  if (most_ > before) {
    occupy(most_ - before, [this] {
      wait_for_rest();
      go_on();
    });
  } else {
    wait_for_rest();
  }
}

void ZeroOverlap::wait_for_rest() {
  poster_->post(HostWork{.thread = HostWork::no_thread,
                         .time = Seconds{std::max(0.0, rest_)},
                         .label = fmt::format("step on bucket {} elsewhere", stepping_ - 1)},
                [this] { stepped(); });
}

void ZeroOverlap::broadcast() {
  const std::size_t bucket = broadcasting_++;
  for (const ZeroPart& part : buckets_[bucket].parts) {
    poster_->post(
        Collective{.kind = CollectiveKind::broadcast,
                   .size = job_->size_of(part.elements),
                   .tensors = part.tensors,
                   .label = fmt::format("bucket {}, parameters of rank {}", bucket, part.rank),
                   .ready = Collective::Ready::at_once,
                   .stream = zero_stream},
        [this] {
          if (--broadcasts_left_ == 0) poster_->post(Raise{.flag = updated_});
          go_on();
        });
  }
}

}  // namespace gradwire
