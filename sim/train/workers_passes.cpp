// Members' ways through the compute stream: items, arrivals, gates, the iteration's end.
#include <algorithm>
#include <utility>

#include "sim/train/workers.hpp"

namespace gradwire {
namespace {

/// Of fewer members, such as an independent worker, copies of their figures take longer than is
/// won.
constexpr std::size_t run_members = 8;

const char* row_of(Part part) {
  return part == Part::copies || part == Part::encode_decode ? "copy" : "compute";
}

}  // namespace

std::size_t Workers::release(Block& block, bool all) {
  if (all || block.met == 0) {
    block.books.stopped.fill(0);
    block.rear = nowhere;  // until some stand somewhere again
    return block.lanes.count;
  }
  block.books.stopped = block.books.met;
  return block.lanes.count - block.met;
}

void Workers::advance(Block& block, double limit, const std::vector<Slowing>& arrived) {
  std::size_t position = block.rear;
  // Wherever those stand that are ready already, they arrive there, and nowhere further on.
  if (library_.on_gpu && block.met == 0 && arrive_on_gpu(block, position, true) > 0) return;
  // Of a rank that runs ahead, the end of its kernel is not known.
  std::size_t going = release(block, !library_.on_gpu || !library_.run_ahead || limit != forever);
  while (going > 0) {
    const bool together = going == block.lanes.count && position >= block.front;
    const std::size_t held = arrive(block, position, together);
    going -= held;
    if (position == stream_.size()) return block.stand_at(position, false);
    if (held > 0) block.stand_at(position, false);
    const Slowing& slowing = arrived[block.worker_class];
    if (together && held == 0) {
      const std::size_t passed = work_run(block, position, limit, slowing);
      position += passed;
      if (passed > 0) continue;
    }
    const auto stopped = pass_one(block, position, limit, going, together && held == 0, slowing);
    if (!stopped) return block.stand_at(position, false);
    if (*stopped > 0) block.stand_at(position, true);
    going -= *stopped;
    ++position;
  }
}

std::optional<std::size_t> Workers::pass_one(Block& block, std::size_t position, double limit,
                                             std::size_t going, bool together,
                                             const Slowing& slowing) {
  const ComputeItem& item = stream_[position];
  if (item.type == ComputeItem::Type::work) {
    return going == 0 ? 0 : going - work(block, position, limit, slowing);
  }
  const bool closed = item.type == ComputeItem::Type::gate && !stream_.is_open(item, log_);
  if (closed) return std::nullopt;
  return pass(block, position, together);
}

std::size_t Workers::pass(Block& block, std::size_t position, bool together) {
  const ComputeItem& item = stream_[position];
  const double opens =
      item.type == ComputeItem::Type::gate ? stream_.opens_at(item, log_) : -forever;
  if (together && item.type != ComputeItem::Type::end && opens <= earliest_of(block.lanes)) {
    block.lanes.item.fill(static_cast<double>(position + 1));
    return 0;
  }
  std::size_t ended = 0;
  for (std::size_t lane = 0; lane < block.lanes.count; ++lane) {
    if (block.item(lane) != position || block.books.stopped[lane] != 0) continue;
    if (item.type == ComputeItem::Type::end) {
      end(block, lane);
      ++ended;
      continue;
    }
    if (opens > block.lanes.now[lane]) {
      wait(block, lane, opens, trace_.records(member(block, lane)) ? last_of(item) : std::string());
    }
    ++block.lanes.item[lane];
  }
  return ended;
}

void Workers::end(Block& block, std::size_t lane) {
  if (std::exchange(block.lanes.remaining[lane], 0) == 0) return;  // it has been here
  IterationSample& sample = samples_[member(block, lane)];
  sample.end = block.lanes.now[lane];
  for (std::size_t part = 0; part < sample.parts.size(); ++part) {
    sample.parts[part] = block.books.parts[part][lane];
  }
  add_shared(ended_, 1);
}

std::size_t Workers::arrive(Block& block, std::size_t position, bool together) {
  if (!library_.on_gpu) return arrive_on_host(block, position);
  return arrive_on_gpu(block, position, together && block.met == 0);
}

std::size_t Workers::arrive_on_gpu(Block& block, std::size_t position, bool all) {
  // While a kernel is on a GPU the next collective waits behind it in the stream.
  if (block.met == block.lanes.count || ended_collectives_ == communication_.size()) return 0;
  auto& next = communication_[ended_collectives_];
  if (position < next.after) return 0;
  const double earliest = ended_collectives_ > 0 ? communication_[ended_collectives_ - 1].end : 0;
  const std::size_t traced = traced_in(block);
  const bool had_met = traced != nowhere && block.books.met[traced] != 0;
  const double launched = block.computes ? next.launched : 0;
  const bool stops = library_.run_ahead;
  const Arrivals arrivals =
      all ? arrive_together(launched, earliest, stops, block.lanes, block.books)
          : gradwire::arrive(static_cast<double>(position), launched, earliest, stops, block.lanes,
                             block.books);
  block.met += arrivals.count;
  if (arrivals.count > 0) {
    add_shared(next.arrived, arrivals.count);
    lower_shared(next.first_arrival, arrivals.first);
    raise_shared(next.last_arrival, arrivals.last);
  }
  if (traced != nowhere && !had_met && block.books.met[traced] != 0) {
    next.traced_arrival =
        std::max({block.lanes.now[traced], block.lanes.start[traced] + launched, earliest});
  }
  return stops ? arrivals.count : 0;
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
      if (trace_.records(member(block, lane))) next.traced_arrival = arrival;
    }
    block.next = std::min(block.next, collective);
  }
  return 0;
}

WorkItem Workers::work_item(std::size_t position, const Kind& kind, const Slowing& alone,
                            const Slowing& met) const {
  const ComputeItem& item = stream_[position];
  const bool does = kind.computes || item.part == Part::encode_decode;
  return {.position = static_cast<double>(position),
          .part = item.part,
          .seconds = does ? stream_.seconds(position, static_cast<int>(kind.worker_class)) : 0,
          .launched = kind.computes ? item.launched : 0,
          .device = item.device,
          .slowing = alone.of(item),
          .slowing_met = met.of(item),
          .residuals = draws_->layer_factors(item.layer, kind.block)};
}

Workers::Run Workers::run_of(std::size_t position, std::size_t end, const Kind& kind,
                             const Slowing& alone, const Slowing& met, const Lanes& lanes,
                             bool slowed, double limit) const {
  Run run;
  const Part part = stream_[position].part;
  Part other = part;
  // Those that are about as fast stand in that order: the last one's clock, without residuals.
  const std::size_t last = lanes.count - 1;
  double now = lanes.now[last];
  for (end = std::min(end, stream_.size()); run.size() < run_most && position < end; ++position) {
    const ComputeItem& item = stream_[position];
    if (item.type != ComputeItem::Type::work) break;
    if (item.part != part && item.part != other) {
      if (other != part || !is_in_runs(item.part)) break;
      other = item.part;
    }
    const WorkItem work = work_item(position, kind, alone, met);
    const double alone_for = work.seconds * (work.device ? lanes.factor[last] : 1);
    now = std::max(now, lanes.start[last] + work.launched) +
          alone_for * (slowed ? work.slowing_met : work.slowing);
    if (now > limit) break;
    run.push_back(work);
  }
  return run;
}

std::size_t Workers::work_run(Block& block, std::size_t position, double limit,
                              const Slowing& arrived) {
  const bool alike_slowed = block.met == 0 || block.met == block.lanes.count;
  if (!alike_slowed || traced_in(block) != nowhere || block.lanes.count < run_members) return 0;
  if (!is_in_runs(stream_[position].part)) return 0;
  std::size_t end = nowhere;  // where they arrive next
  if (library_.on_gpu && block.met == 0 && ended_collectives_ < communication_.size()) {
    end = communication_[ended_collectives_].after;
  } else if (!library_.on_gpu && block.next < communication_.size()) {
    end = communication_[block.next].after;
  }
  const Run items = run_of(position, end, kind_of(block, block.number), beside_[block.worker_class],
                           arrived, block.lanes, block.met > 0, limit);
  if (items.empty()) return 0;
  const std::size_t passed =
      pass_run({items.data(), items.size()}, limit, block.lanes, block.books);
  block.front = std::max(block.front, position + passed);
  return passed;
}

std::size_t Workers::work(Block& block, std::size_t position, double limit,
                          const Slowing& arrived) {
  Lanes& lanes = block.lanes;
  const WorkItem item =
      work_item(position, kind_of(block, block.number), beside_[block.worker_class], arrived);
  const std::size_t lane = traced_in(block);
  if (lane == nowhere) return pass_item(item, limit, lanes, block.books);
  const bool is_here = block.item(lane) == position && block.books.stopped[lane] == 0;
  double begin = lanes.now[lane];
  if (lanes.remaining[lane] < 0) begin = std::max(begin, lanes.start[lane] + item.launched);
  const std::size_t going = pass_item(item, limit, lanes, block.books);
  if (is_here && lanes.now[lane] > begin) {
    const double slowing = block.books.met[lane] != 0 ? item.slowing_met : item.slowing;
    trace_.add(row_of(item.part), stream_.name(position), begin, lanes.now[lane],
               slowing > 1 ? "slowed by communication" : "");
  }
  return going;
}

std::string Workers::last_of(const ComputeItem& gate) const {
  const auto& until = stream_.until(gate);
  return log_.label(*std::ranges::max_element(
      until, {}, [this](OperationId operation) { return log_.end_of(operation); }));
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
  if (trace_.records(member(block, lane))) trace_.add("compute", "wait", clock, until, cause);
  clock = until;
}

}  // namespace gradwire
