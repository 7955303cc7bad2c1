#include "strategies/all_reduce/tf_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <memory>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// An addition reads two operands and writes one.
constexpr std::int64_t addition_passes = 3;
/// Reduce, then gather.
constexpr int passes_of_a_ring = 2;

}  // namespace

TfRing::TfRing(const RemoteCalls& calls, JobView job, const std::vector<Bytes>& sizes,
               Poster& poster)
    : calls_(calls), job_(std::move(job)), poster_(&poster) {
  assert(job_.world_size > 1);
  for (const int rank : all_ranks(job_)) ranks_[machine_of(job_, rank)].push_back(rank);
  devices_ = std::max(1, job_.world_size / static_cast<int>(ranks_.size()));
  for (const Bytes size : sizes) {
    const int rings = subdivisions(size);
    for (int ring = 0; ring < rings; ++ring) {
      const int offset = offset_of(ring, rings);
      if (!first_exchange_.contains(offset)) first_exchange_[offset] = add_exchanges(offset);
    }
  }
}

int TfRing::subdivisions(Bytes size) const {
  int rings = 1;
  while (rings < rings_per_device * devices_ &&
         size.count() / (std::int64_t{job_.world_size} * rings) > chunk_max.count()) {
    ++rings;
  }
  return rings;
}

int TfRing::offset_of(int ring, int rings) const {
  const int offset = std::max(1, devices_ / rings) * ring;
  return ring % 2 == 1 ? -offset : offset;
}

std::vector<int> TfRing::order_of(int offset) const {
  std::vector<int> order;
  for (const auto& [machine, ranks] : ranks_) {
    const auto count = ranks.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(std::abs(offset))) % count;
      order.push_back(ranks[offset < 0 ? count - 1 - at : at]);
    }
  }
  return order;
}

int TfRing::add_exchanges(int offset) {
  const int first = static_cast<int>(exchanges_.size());
  const std::vector<int> order = order_of(offset);
  const bool across = ranks_.size() > 1;
  Exchange hops{.name = fmt::format("ring {}", offset), .phases = {{}}};
  Exchange down{.name = fmt::format("ring {} to host", offset), .phases = {{}}};
  Exchange up{.name = fmt::format("ring {} to GPU", offset), .phases = {{}}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int from = order[i];
    const int to = order[(i + 1) % order.size()];
    if (machine_of(job_, from) == machine_of(job_, to)) {
      hops.phases[0].push_back({gpu_of(from), gpu_of(to), 1});
      continue;
    }
    down.phases[0].push_back({gpu_of(from), host_of(from), 1});
    hops.phases[0].push_back({host_of(from), host_of(to), 1});
    up.phases[0].push_back({host_of(to), gpu_of(to), 1});
  }
  // A step begins when the one before it has arrived; the links tell of the first one's latency.
  const double later_steps = job_.world_size - 2;
  hops.startup = later_steps * (across ? job_.message_latency : Seconds{0});
  exchanges_.push_back(std::move(hops));
  if (across) {
    exchanges_.push_back(std::move(down));
    exchanges_.push_back(std::move(up));
  }
  return first;
}

void TfRing::reduce(Bytes size, const std::vector<TensorId>& tensors, Poster::Then then) {
  const int rings = subdivisions(size);
  const auto left = std::make_shared<int>(rings);
  const auto ended = [left, then = std::move(then)] {
    if (--*left == 0) then();
  };
  const std::int64_t ranks = job_.world_size;
  for (int ring = 0; ring < rings; ++ring) {
    pass({.exchange = first_exchange_.at(offset_of(ring, rings)),
          .thread = calls_.cost() ? ring % calls_.threads : 0,
          .passed = Bytes{size.count() * (ranks - 1) / (ranks * rings)},
          .passes = 0,
          .tensors = tensors,
          .then = ended});
  }
}

void TfRing::gather(Bytes size, const std::vector<TensorId>& tensors, Poster::Then then) {
  const std::int64_t ranks = job_.world_size;
  pass({.exchange = first_exchange_.at(offset_of(0, 1)),
        .thread = 0,
        .passed = Bytes{size.count() / ranks * (ranks - 1)},
        .passes = passes_of_a_ring - 1,
        .tensors = tensors,
        .then = std::move(then)});
}

void TfRing::move(const Course& course, Part part, const char* label, Poster::Then then) {
  poster_->post(Messages{.exchange = course.exchange + part,
                         .size = course.passed,
                         .tensors = course.tensors,
                         .label = label},
                std::move(then));
}

void TfRing::pass(const Course& course) {
  const bool across = ranks_.size() > 1;
  const auto queue = [this, course] {
    wire_.push(course);
    travel_next();
  };
  if (across) {
    move(course, down_to_host, "copy to host", queue);
  } else {
    move(course, hop, "copy to the next GPU", [this, course] { arrived(course); });
  }
}

void TfRing::travel_next() {
  const auto next = wire_.take(1);
  if (!next) return;
  const Course& course = *next;
  // A call keeps a thread busy on each side while its bytes travel; the longest of them counts.
  const bool called = calls_.cost();
  const auto under_way = std::make_shared<int>(called ? 3 : 1);
  const auto then = [this, under_way, course] {
    if (--*under_way > 0) return;
    wire_.ended();
    travel_next();
    move(course, up_to_gpu, "copy to GPU", [this, course] { arrived(course); });
  };
  if (called) {
    RemoteCalls one = calls_;
    one.threads = 1;
    const int thread = 2 * course.thread;
    for (const HostWork& work :
         one.work({.thread = thread}, {.thread = thread}, job_.world_size - 1, course.passed)) {
      poster_->post(work, then);
    }
  }
  move(course, hop, "ring", then);
}

void TfRing::arrived(Course course) {
  if (++course.passes == passes_of_a_ring) {
    course.then();
    return;
  }
  poster_->post(DeviceWork{.traffic = addition_passes * course.passed,
                           .kernels = job_.world_size - 1,
                           .label = "add chunks",
                           .stream = DeviceStream::side},
                [this, course] { pass(course); });
}

}  // namespace gradwire
