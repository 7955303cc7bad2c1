#include "sim/train/workers.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gradwire {
namespace {

const char* row_of(Part part) {
  return part == Part::copies || part == Part::encode_decode ? "copy" : "compute";
}

bool alike(const MemberGroup& a, const MemberGroup& b) {
  return a.worker_class == b.worker_class && a.inputs == b.inputs;
}

}  // namespace

Workers::Workers(std::vector<MemberGroup> members, std::vector<TensorInfo> tensors,
                 OperationLog& log, Activity& activity, std::vector<GpuCapacity> classes,
                 CommunicationStream library)
    : members_(std::move(members)),
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
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (blocks_.empty() || blocks_.back().lanes.count == lanes_most ||
        !alike(members_[m - 1], members_[m])) {
      Block& block = blocks_.emplace_back();
      block.first = m;
      block.worker_class = static_cast<std::size_t>(members_[m].worker_class);
    }
    Lanes& lanes = blocks_.back().lanes;
    lanes.now[lanes.count++] = members_[m].start;
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
  for (Block& block : blocks_) {
    Lanes& lanes = block.lanes;
    block.computes = draws.iteration() < members_[block.first].inputs;
    for (LaneArray& part : block.books.parts) part.fill(0);
    lanes.item.fill(0);
    lanes.remaining.fill(-1);
    for (std::size_t lane = 0; lane < lanes.count; ++lane) {
      const std::size_t m = block.first + lane;
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

bool Workers::has_ended(const Block& block, std::size_t lane) const {
  const std::size_t item = block.item(lane);
  return item < stream_.size() && stream_[item].type == ComputeItem::Type::end &&
         block.lanes.remaining[lane] == 0;
}

void Workers::catch_up(double now) {
  const double limit = about(now);
  for (Block& block : blocks_) advance(block, limit);
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
  for (const Block& block : blocks_) {
    for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
      least = std::min(least, block.lanes.now[lane]);
    }
  }
  return least;
}

double Workers::first_start() const {
  return std::min_element(samples_.begin(), samples_.end(),
                          [](const auto& a, const auto& b) { return a.start < b.start; })
      ->start;
}

std::size_t Workers::post(CommunicationItem item) {
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
  for (Block& block : blocks_) advance(block, forever);
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
      const std::size_t m = block.first + lane;
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
  if (library_.on_gpu && item.first_arrival < item.start) catch_up(item.start);
  item.moves = true;
  slow_anew();
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
  if (library_.on_gpu) {
    for (Block& block : blocks_) {
      advance(block, end);
      block.books.met.fill(0);
      block.met = 0;
    }
    ++ended_collectives_;
  }
  slow_anew();
  if (library_.run_ahead) catch_up(forever);
  if (!library_.run_ahead) run(end);
}

Going Workers::release(Block& block, bool all) {
  if (all) {
    block.books.stopped.fill(0);
  } else {
    block.books.stopped = block.books.met;
  }
  return going_on(block.lanes, block.books, static_cast<double>(stream_.size()));
}

void Workers::advance(Block& block, double limit) {
  // Of a rank that runs ahead, the end of its kernel is not known.
  const Going released =
      release(block, !library_.on_gpu || !library_.run_ahead || limit != forever);
  std::size_t going = released.members;
  for (auto position = static_cast<std::size_t>(released.item); going > 0; ++position) {
    going -= arrive(block, position);
    if (position == stream_.size()) return;
    const ComputeItem& item = stream_[position];
    if (item.type == ComputeItem::Type::work) {
      if (going > 0) going = work(block, position, limit);
      continue;
    }
    if (item.type == ComputeItem::Type::gate && !stream_.is_open(item, log_)) return;
    for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
      if (block.item(lane) != position || block.books.stopped[lane] != 0) continue;
      if (item.type == ComputeItem::Type::end) {
        end(block, lane);
        --going;
        continue;
      }
      if (item.type == ComputeItem::Type::gate) pass_gate(block, lane, item);
      ++block.lanes.item[lane];
    }
  }
}

void Workers::end(Block& block, std::size_t lane) {
  if (std::exchange(block.lanes.remaining[lane], 0) == 0) return;  // it has been here
  IterationSample& sample = samples_[block.first + lane];
  sample.end = block.lanes.now[lane];
  for (std::size_t part = 0; part < sample.parts.size(); ++part) {
    sample.parts[part] = block.books.parts[part][lane];
  }
  ++ended_;
}

std::size_t Workers::arrive(Block& block, std::size_t position) {
  return library_.on_gpu ? arrive_on_gpu(block, position) : arrive_on_host(block, position);
}

std::size_t Workers::arrive_on_gpu(Block& block, std::size_t position) {
  // While a kernel is on a GPU the next collective waits behind it in the stream.
  if (block.met == block.lanes.count || ended_collectives_ == communication_.size()) return 0;
  auto& next = communication_[ended_collectives_];
  if (position < next.after) return 0;
  const double earliest = ended_collectives_ > 0 ? communication_[ended_collectives_ - 1].end : 0;
  const std::optional<std::size_t> traced = traced_in(block);
  const bool had_met = traced && block.books.met[*traced] != 0;
  const double launched = block.computes ? next.launched : 0;
  const Arrivals arrivals = gradwire::arrive(static_cast<double>(position), launched, earliest,
                                             library_.run_ahead, block.lanes, block.books);
  block.met += arrivals.count;
  next.arrived += arrivals.count;
  next.first_arrival = std::min(next.first_arrival, arrivals.first);
  next.last_arrival = std::max(next.last_arrival, arrivals.last);
  if (traced && !had_met && block.books.met[*traced] != 0) {
    next.traced_arrival =
        std::max({block.lanes.now[*traced], block.lanes.start[*traced] + launched, earliest});
  }
  return library_.run_ahead ? arrivals.count : 0;
}

std::size_t Workers::arrive_on_host(Block& block, std::size_t position) {
  if (block.next == communication_.size() || position < communication_[block.next].after) return 0;
  block.next = communication_.size();
  for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
    std::size_t& collective = block.collective[lane];
    const bool is_here = block.item(lane) == position && block.books.stopped[lane] == 0;
    // Several may be ready.
    for (; is_here && collective < communication_.size(); ++collective) {
      auto& next = communication_[collective];
      if (position < next.after) break;
      const double launched = block.computes ? next.launched : 0;
      const double arrival = std::max(block.lanes.now[lane], block.lanes.start[lane] + launched);
      ++next.arrived;
      next.first_arrival = std::min(next.first_arrival, arrival);
      next.last_arrival = std::max(next.last_arrival, arrival);
      if (trace_.records(block.first + lane)) next.traced_arrival = arrival;
    }
    block.next = std::min(block.next, collective);
  }
  return 0;
}

WorkItem Workers::work_item(std::size_t position, std::size_t worker_class, bool computes,
                            const Slowing& alone, const Slowing& met) const {
  const ComputeItem& item = stream_[position];
  const bool does = computes || item.part == Part::encode_decode;
  return {.position = static_cast<double>(position),
          .part = item.part,
          .seconds = does ? stream_.seconds(position, static_cast<int>(worker_class)) : 0,
          .launched = computes ? item.launched : 0,
          .device = item.device,
          .slowing = alone.of(item),
          .slowing_met = met.of(item)};
}

std::size_t Workers::work(Block& block, std::size_t position, double limit) {
  Lanes& lanes = block.lanes;
  const WorkItem item = work_item(position, block.worker_class, block.computes,
                                  beside_[block.worker_class], arrived_[block.worker_class]);
  const auto residuals = draws_->layer_factors(stream_[position].layer, block.first, lanes.count);
  const std::optional<std::size_t> traced = traced_in(block);
  if (!traced) return pass_item(item, residuals, limit, lanes, block.books);
  const std::size_t lane = *traced;
  const bool is_here = block.item(lane) == position && block.books.stopped[lane] == 0;
  double begin = lanes.now[lane];
  if (lanes.remaining[lane] < 0) begin = std::max(begin, lanes.start[lane] + item.launched);
  const std::size_t going = pass_item(item, residuals, limit, lanes, block.books);
  if (is_here && lanes.now[lane] > begin) {
    const double slowing = block.books.met[lane] != 0 ? item.slowing_met : item.slowing;
    trace_.add(row_of(item.part), stream_.name(position), begin, lanes.now[lane],
               slowing > 1 ? "slowed by communication" : "");
  }
  return going;
}

std::optional<std::size_t> Workers::traced_in(const Block& block) const {
  const std::optional<std::size_t> traced = trace_.member();
  if (!traced || *traced < block.first || *traced >= block.first + block.lanes.count) return {};
  return *traced - block.first;
}

void Workers::pass_gate(Block& block, std::size_t lane, const ComputeItem& item) {
  double opens = block.lanes.now[lane];
  std::optional<OperationId> last;
  for (const OperationId id : stream_.until(item)) {
    if (log_.end_of(id) > opens) {
      opens = log_.end_of(id);
      last = id;
    }
  }
  if (!last) return;
  wait(block, lane, opens, trace_.records(block.first + lane) ? log_.label(*last) : std::string());
}

void Workers::wait(Block& block, std::size_t lane, double until, const std::string& cause) {
  double& clock = block.lanes.now[lane];
  // Of the wait, what data moved in is exposed, what a host thread worked in beside that is the
  // host's; the rest waited for late ranks.
  const double waited = until - clock;
  const double moving = std::clamp(activity_.moving.overlap(clock, until), 0.0, waited);
  const double working = std::clamp(activity_.working.overlap(clock, until), moving, waited);
  block.books.of(Part::exposed_communication)[lane] += moving;
  block.books.of(Part::host)[lane] += working - moving;
  block.books.of(Part::straggler_wait)[lane] += waited - working;
  if (trace_.records(block.first + lane)) trace_.add("compute", "wait", clock, until, cause);
  clock = until;
}

}  // namespace gradwire
