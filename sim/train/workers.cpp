#include "sim/train/workers.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gradwire {
namespace {

const char* row_of(Part part) {
  return part == Part::copies || part == Part::encode_decode ? "copy" : "compute";
}

}  // namespace

Workers::Workers(std::vector<MemberGroup> members, std::vector<TensorInfo> tensors,
                 OperationLog& log, Activity& activity, std::vector<GpuCapacity> classes,
                 CommunicationStream library)
    : members_(std::move(members)),
      clocks_(members_.size()),
      paces_(members_.size()),
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
  for (std::size_t m = 0; m < members_.size(); ++m) clocks_[m].now = members_[m].start;
}

void Workers::begin_iteration(const IterationDraws& draws) {
  assert(stream_.size() == 0 || iteration_ended());
  draws_ = &draws;
  forget_collectives();
  const std::size_t dropped = stream_.drop_iteration();
  for (std::size_t p = taken_; p < communication_.size(); ++p) {
    communication_[p].after -= std::min(communication_[p].after, dropped);
  }
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Clock& clock = clocks_[m];
    Ahead& ahead = ahead_[m];
    clock.item = 0;
    clock.remaining = -1;
    const double start = clock.now - ahead.seconds;
    paces_[m] = {.start = start,
                 .factor = members_[m].speed * draws.iteration_factor(m),
                 .worker_class = static_cast<std::size_t>(members_[m].worker_class),
                 .computes = draws.iteration() < members_[m].inputs};
    samples_[m] = IterationSample{.start = start, .end = clock.now, .parts = {}};
    samples_[m].parts[static_cast<std::size_t>(ahead.part)] += std::exchange(ahead.seconds, 0);
  }
  ended_ = 0;
  choose_leads();
}

bool Workers::has_ended(const Clock& clock) const {
  return clock.item < stream_.size() && stream_[clock.item].type == ComputeItem::Type::end &&
         clock.remaining == 0;
}

void Workers::catch_up(double now) {
  const double limit = about(now);
  for (std::size_t m = 0; m < members_.size(); ++m) advance(m, limit);
}

void Workers::forget_collectives() {
  std::size_t kept = taken_;
  for (const Clock& clock : clocks_) kept = std::min(kept, clock.collective);
  std::size_t first = communication_.first();
  // The next one to arrive at asks when the one before it ended.
  while (first + 1 < kept && communication_[first].done) ++first;
  communication_.forget_before(first);
}

double Workers::earliest() const {
  return std::ranges::min_element(clocks_, {}, &Clock::now)->now;
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
  for (std::size_t m = 0; m < members_.size(); ++m) {
    // Of a rank that runs ahead, the end of its kernel is not known.
    if (!clocks_[m].communicating) advance(m, forever);
  }
}

double Workers::occupy(Part part, double now, double seconds, std::span<const double> other_seconds,
                       const std::string& name) {
  catch_up(now);
  forget_walks();
  double last = now;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Clock& clock = clocks_[m];
    const bool ended = has_ended(clock);
    if (clock.now < now && !ended) wait(m, now, name);
    const Pace& pace = paces_[m];
    const double nominal = pace.worker_class == 0 ? seconds : other_seconds[pace.worker_class - 1];
    const double taken = does(pace, part) ? nominal * pace.factor : 0;
    if (ended) {
      ahead_[m].seconds += taken;
      ahead_[m].part = part;
    } else {
      samples_[m].parts[static_cast<std::size_t>(part)] += taken;
    }
    if (trace_.records(m)) trace_.add("copy", name, clock.now, clock.now + taken, "");
    clock.now += taken;
    last = std::max(last, clock.now);
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
    for (std::size_t m = 0; m < members_.size(); ++m) {
      advance(m, end);
      clocks_[m].communicating = false;
      ++clocks_[m].collective;
    }
    ++ended_collectives_;
  }
  slow_anew();
  if (library_.run_ahead) catch_up(forever);
  if (!library_.run_ahead) run(end);
}

void Workers::advance(std::size_t member, double limit) {
  Clock& clock = clocks_[member];
  while (true) {
    // While a kernel is on the GPU the next collective waits behind it in the stream.
    if (!clock.communicating && arrives(member)) {
      if (library_.on_gpu && library_.run_ahead) return;
      continue;  // another one may be ready
    }
    if (clock.item == stream_.size()) return;
    const ComputeItem& item = stream_[clock.item];
    switch (item.type) {
      case ComputeItem::Type::work:
        if (!work(member, limit)) return;
        break;
      case ComputeItem::Type::gate:
        if (!pass_gate(member, item)) return;
        ++clock.item;
        break;
      case ComputeItem::Type::mark:
        ++clock.item;
        break;
      case ComputeItem::Type::end:
        if (clock.remaining < 0) {  // once
          clock.remaining = 0;
          samples_[member].end = clock.now;
          ++ended_;
        }
        return;
    }
  }
}

bool Workers::arrives(std::size_t member) {
  Clock& clock = clocks_[member];
  if (clock.collective == communication_.size()) return false;
  auto& next = communication_[clock.collective];
  if (clock.item < next.after) return false;
  double arrival = std::max(clock.now, launched(paces_[member], next.launched));
  if (library_.on_gpu) {
    if (clock.collective > 0) {
      arrival = std::max(arrival, communication_[clock.collective - 1].end);
    }
    clock.communicating = true;
  } else {
    ++clock.collective;
  }
  ++next.arrived;
  next.first_arrival = std::min(next.first_arrival, arrival);
  next.last_arrival = std::max(next.last_arrival, arrival);
  if (trace_.records(member)) next.traced_arrival = arrival;
  return true;
}

bool Workers::work(std::size_t member, double limit) {
  Clock clock = clocks_[member];  // a copy whose address nobody takes: it stays in registers
  const Pace pace = paces_[member];
  auto& parts = samples_[member].parts;
  const bool waits_for_collective =
      !clock.communicating && clock.collective < communication_.size();
  const std::size_t stop =
      waits_for_collective ? communication_[clock.collective].after : stream_.size();
  const Slowing slowing = (clock.communicating ? arrived_ : beside_)[pace.worker_class];
  bool finishes = true;
  double slowed = 0;
  for (; clock.item < stop && stream_[clock.item].type == ComputeItem::Type::work; ++clock.item) {
    const ComputeItem& item = stream_[clock.item];
    if (clock.remaining < 0) {  // not begun
      const double begin = launched(pace, item.launched);
      finishes = begin <= limit;
      if (!finishes) break;
      if (begin > clock.now) {
        parts[static_cast<std::size_t>(Part::host)] += begin - clock.now;
        clock.now = begin;
      }
      clock.remaining = seconds_of(clock.item, member);
    }
    const double slowdown = slowing.of(item);
    const double needed = clock.remaining * slowdown;
    finishes = clock.now + needed <= limit;
    const double spent = finishes ? needed : std::max(0.0, limit - clock.now);
    const double nominal = finishes ? clock.remaining : spent / slowdown;
    parts[static_cast<std::size_t>(item.part)] += nominal;
    slowed += spent - nominal;
    if (trace_.records(member) && spent > 0) {
      trace_.add(row_of(item.part), stream_.name(clock.item), clock.now, clock.now + spent,
                 slowdown > 1 ? "slowed by communication" : "");
    }
    clock.now += spent;
    clock.remaining -= nominal;
    if (!finishes) break;
    clock.remaining = -1;
  }
  parts[static_cast<std::size_t>(Part::overlap_slowdown)] += slowed;
  clocks_[member] = clock;
  return finishes;
}

bool Workers::pass_gate(std::size_t member, const ComputeItem& item) {
  if (!stream_.is_open(item, log_)) return false;
  double opens = clocks_[member].now;
  std::optional<OperationId> last;
  for (const OperationId id : stream_.until(item)) {
    if (log_.end_of(id) > opens) {
      opens = log_.end_of(id);
      last = id;
    }
  }
  if (last) wait(member, opens, trace_.records(member) ? log_.label(*last) : std::string());
  return true;
}

void Workers::wait(std::size_t member, double until, const std::string& cause) {
  Clock& clock = clocks_[member];
  // Of the wait, what data moved in is exposed, what a host thread worked in beside that is the
  // host's; the rest waited for late ranks.
  const double waited = until - clock.now;
  const double moving = std::clamp(activity_.moving.overlap(clock.now, until), 0.0, waited);
  const double working = std::clamp(activity_.working.overlap(clock.now, until), moving, waited);
  auto& parts = samples_[member].parts;
  parts[static_cast<std::size_t>(Part::exposed_communication)] += moving;
  parts[static_cast<std::size_t>(Part::host)] += working - moving;
  parts[static_cast<std::size_t>(Part::straggler_wait)] += waited - working;
  if (trace_.records(member)) trace_.add("compute", "wait", clock.now, until, cause);
  clock.now = until;
}

}  // namespace gradwire
