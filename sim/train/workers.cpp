#include "sim/train/workers.hpp"

#include <cassert>
#include <numeric>

namespace gradwire {
Workers::Workers(std::vector<MemberGroup> members, std::vector<TensorInfo> tensors,
                 OperationLog& log, Activity& activity, std::vector<GpuCapacity> classes,
                 CommunicationStream library)
    : members_(std::move(members)),
      seats_(members_.size()),
      ahead_(members_.size()),
      samples_(members_.size()),
      stream_(static_cast<int>(classes.size())),
      log_(log),
      activity_(activity),
      library_(library),
      gpus_(std::move(classes)),
      beside_(gpus_.size()),
      arrived_(gpus_.size()),
      trace_(std::move(tensors)) {
  assert(library.concurrent >= 1 && (!library.on_gpu || library.concurrent == 1));
  assert(std::all_of(members_.begin(), members_.end(), [&](const MemberGroup& group) {
    return static_cast<std::size_t>(group.worker_class) < gpus_.size();
  }));
  std::iota(seats_.begin(), seats_.end(), 0U);
  const std::vector<std::size_t> starts = block_starts(members_);
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    Block& block = blocks_.emplace_back();
    block.first = starts[b];
    block.number = b;
    block.worker_class = static_cast<std::size_t>(members_[block.first].worker_class);
    for (std::size_t m = starts[b]; m < starts[b + 1]; ++m) {
      block.lanes.now[block.lanes.count++] = members_[m].start;
    }
  }
}

void Workers::begin_iteration(const IterationDraws& draws) {
  assert(stream_.size() == 0 || iteration_ended());
  draws_ = &draws;
  forget_collectives();
  const std::size_t dropped = stream_.drop_iteration();
  for (std::size_t p = taken_; p < communication_.size(); ++p) {
    communication_[p].after -= std::min(communication_[p].after, dropped);
  }
  seat(draws.order());
  for (Block& block : blocks_) {
    Lanes& lanes = block.lanes;
    block.computes = draws.iteration() < members_[block.first].inputs;
    for (LaneArray& part : block.books.parts) part.fill(0);
    lanes.item.fill(0);
    lanes.remaining.fill(-1);
    block.rear = 0;
    block.front = 0;
    for (std::size_t lane = 0; lane < lanes.count; ++lane) {
      const std::size_t m = member(block, lane);
      Ahead& ahead = ahead_[m];
      lanes.start[lane] = lanes.now[lane] - ahead.seconds;
      lanes.factor[lane] = members_[m].speed * draws.iteration_factor(m);
      samples_[m] = {.start = lanes.start[lane], .end = lanes.now[lane], .parts = {}};
      block.books.of(ahead.part)[lane] += std::exchange(ahead.seconds, 0);
    }
  }
  ended_ = 0;
  choose_leads();
}

void Workers::seat(std::span<const std::uint32_t> order) {
  if (order.empty()) return;
  struct Brought {
    double now = 0;
    double met = 0;
    std::size_t collective = 0;
  };
  std::vector<Brought> brought(members_.size());
  for (const Block& block : blocks_) {
    for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
      brought[member(block, lane)] = {block.lanes.now[lane], block.books.met[lane],
                                      block.collective[lane]};
    }
  }
  seats_.assign(order.begin(), order.end());
  for (Block& block : blocks_) {
    block.met = 0;
    block.next = nowhere;
    for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
      const Brought& own = brought[member(block, lane)];
      block.lanes.now[lane] = own.now;
      block.books.met[lane] = own.met;
      block.collective[lane] = own.collective;
      block.met += own.met != 0 ? 1U : 0U;
      block.next = std::min(block.next, own.collective);
    }
  }
  find_traced();
}

bool Workers::has_ended(const Block& block, std::size_t lane) const {
  const std::size_t item = block.item(lane);
  return item < stream_.size() && stream_[item].type == ComputeItem::Type::end &&
         block.lanes.remaining[lane] == 0;
}

void Workers::catch_up(double now) {
  each_block([&](Block& block) { advance(block, now); });
}

void Workers::forget_collectives() {
  std::size_t kept = taken_;
  if (library_.on_gpu) {
    kept = std::min(kept, ended_collectives_);
  } else {
    for (const Block& block : blocks_) kept = std::min(kept, block.next);
  }
  std::size_t first = communication_.first();
  // The next one to arrive at asks when the one before it ended.
  while (first + 1 < kept && communication_[first].done) ++first;
  communication_.forget_before(first);
}

double Workers::earliest() const {
  double least = forever;
  for (const Block& block : blocks_) least = std::min(least, earliest_of(block.lanes));
  return least;
}

double Workers::first_start() const {
  return std::min_element(samples_.begin(), samples_.end(),
                          [](const auto& a, const auto& b) { return a.start < b.start; })
      ->start;
}

std::size_t Workers::post(CommunicationItem item) {
  pay();
  item.after = stream_.size();
  communication_.push_back(std::move(item));
  if (communication_.size() == ended_collectives_ + 1) slow_anew();
  return communication_.size() - 1;
}

void Workers::run(double now) {
  now_ = now;
  if (!library_.run_ahead) {
    meet();
    return;
  }
  if (!is_asked()) return;
  // Behind a kernel that is on every GPU nobody runs ahead.
  if (library_.on_gpu && ended_collectives_ < communication_.size() &&
      communication_[ended_collectives_].arrived == members_.size()) {
    return;
  }
  each_block([&](Block& block) { advance(block, forever); });
}

bool Workers::is_asked() const {
  return taken_ < communication_.size() || marked() != nowhere || stream_.end() < stream_.size();
}

double Workers::occupy(Part part, double now, double seconds, std::span<const double> other_seconds,
                       const std::string& name) {
  catch_up(now);
  forget_walks();
  double last = now;
  for (Block& block : blocks_) {
    const double nominal =
        block.worker_class == 0 ? seconds : other_seconds[block.worker_class - 1];
    for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
      const std::size_t m = member(block, lane);
      double& clock = block.lanes.now[lane];
      const bool ended = has_ended(block, lane);
      if (clock < now && !ended) wait(block, lane, now, name);
      const double taken = block.does(part) ? nominal * block.lanes.factor[lane] : 0;
      if (ended) {
        ahead_[m].seconds += taken;
        ahead_[m].part = part;
      } else {
        block.books.of(part)[lane] += taken;
      }
      if (trace_.records(m)) trace_.add("copy", name, clock, clock + taken, "");
      clock += taken;
      last = std::max(last, clock);
    }
  }
  return last;
}

std::optional<std::size_t> Workers::take_ready() {
  if (taken_ == communication_.size()) return std::nullopt;
  auto& head = communication_[taken_];
  if (head.arrived < members_.size() || in_flight_ == library_.concurrent) return std::nullopt;
  head.start = std::max(head.last_arrival, freed_);
  activity_.moving.begin(head.start);
  activity_.working.begin(head.start);
  ++in_flight_;
  return taken_++;
}

void Workers::kernel_begins(const GpuLoad& load) {
  catch_up(now_);
  kernels_.push_back(load);
  slow_anew();
}

void Workers::kernel_ends(const GpuLoad& load) {
  catch_up(now_);
  const auto found = std::ranges::find(kernels_, load);
  assert(found != kernels_.end());
  kernels_.erase(found);
  slow_anew();
}

void Workers::slow_anew() {
  forget_walks();
  GpuLoad load;
  for (const GpuLoad& kernel : kernels_) load += kernel;
  GpuLoad with_next = load;
  const bool next = library_.on_gpu && ended_collectives_ < communication_.size();
  if (next) {
    const CommunicationItem& item = communication_[ended_collectives_];
    with_next += item.moves ? item.moving : item.waiting;
  }
  for (std::size_t c = 0; c < gpus_.size(); ++c) {
    beside_[c] = {!kernels_.empty(), slowdown(gpus_[c], load)};
    arrived_[c] = {next || !kernels_.empty(), slowdown(gpus_[c], with_next)};
  }
}

void Workers::begin_moving(std::size_t position) {
  CommunicationItem& item = communication_[position];
  // Where nobody has waited, nobody was slowed by a kernel that waits.
  if (library_.on_gpu && item.first_arrival < item.start) {
    owed_ = {item.start, arrived_};
    if (!library_.run_ahead) pay();
  }
  item.moves = true;
  slow_anew();
}

void Workers::pay() {
  if (!owed_) return;
  each_block([&](Block& block) { advance_owed(block); });
  owed_.reset();
}

void Workers::finish(std::size_t position, double end) {
  auto& item = communication_[position];
  activity_.moving.end(item.start, end);
  activity_.working.end(item.start, end);
  log_.end(item.operation, end);
  item.done = true;
  item.end = end;
  if (in_flight_-- == library_.concurrent) freed_ = end;
  if (trace_.is_on()) trace_collective(item);
  if (library_.on_gpu) leave_kernel(end);
  slow_anew();
  if (library_.run_ahead && !library_.on_gpu) catch_up(forever);
  if (!library_.run_ahead) run(end);
}

void Workers::leave_kernel(double end) {
  // A block at a time, so that what it is made of is fetched once.
  ++ended_collectives_;
  each_block([&](Block& block) {
    if (owed_) advance_owed(block);
    advance(block, end);
    block.books.met.fill(0);
    block.met = 0;
    if (library_.run_ahead) advance(block, forever);
  });
  owed_.reset();
}

}  // namespace gradwire
