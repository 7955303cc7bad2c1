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
      samples_(members_.size()),
      stream_(static_cast<int>(classes.size())),
      log_(log),
      activity_(activity),
      library_(library),
      gpus_(std::move(classes)),
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
    clock.item = 0;
    clock.remaining = -1;
    clock.factor = members_[m].speed * draws.iteration_factor(m);
    samples_[m] = IterationSample{.start = clock.now - clock.ahead, .end = clock.now, .parts = {}};
    samples_[m].parts[static_cast<std::size_t>(clock.ahead_part)] += std::exchange(clock.ahead, 0);
  }
  ended_ = 0;
  choose_leads();
}

bool Workers::has_ended(const Clock& clock) const {
  return clock.item < stream_.size() && stream_[clock.item].type == ComputeItem::Type::end &&
         clock.remaining == 0;
}

void Workers::catch_up(double now) {
  for (std::size_t m = 0; m < members_.size(); ++m) advance(m, about(now));
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
    const auto worker_class = static_cast<std::size_t>(members_[m].worker_class);
    const double nominal = worker_class == 0 ? seconds : other_seconds[worker_class - 1];
    const double taken = does(m, part) ? nominal * clock.factor : 0;
    if (ended) {
      clock.ahead += taken;
      clock.ahead_part = part;
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
  forget_walks();
  kernels_.push_back(load);
}

void Workers::kernel_ends(const GpuLoad& load) {
  catch_up(now_);
  forget_walks();
  const auto found = std::ranges::find(kernels_, load);
  assert(found != kernels_.end());
  kernels_.erase(found);
}

std::optional<Slowdown> Workers::slowdown_of(std::size_t member,
                                             const CommunicationItem* arrived) const {
  if (arrived == nullptr && kernels_.empty()) return std::nullopt;
  GpuLoad load;
  for (const GpuLoad& kernel : kernels_) load += kernel;
  if (arrived != nullptr) load += arrived->moves ? arrived->moving : arrived->waiting;
  return slowdown(gpus_[static_cast<std::size_t>(members_[member].worker_class)], load);
}

void Workers::begin_moving(std::size_t position) {
  CommunicationItem& item = communication_[position];
  if (library_.on_gpu) {
    for (std::size_t m = 0; m < members_.size(); ++m) advance(m, about(item.start));
  }
  item.moves = true;
  forget_walks();
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
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (library_.on_gpu) {
      advance(m, end);
      clocks_[m].communicating = false;
      ++clocks_[m].collective;
    }
    if (library_.run_ahead) advance(m, forever);
  }
  forget_walks();
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
  double arrival = std::max(clock.now, launched(member, next.launched));
  if (library_.on_gpu) {
    if (clock.collective > 0) {
      arrival = std::max(arrival, communication_[clock.collective - 1].end);
    }
    clock.communicating = true;
  } else {
    ++clock.collective;
  }
  ++next.arrived;
  next.last_arrival = std::max(next.last_arrival, arrival);
  if (trace_.records(member)) next.traced_arrival = arrival;
  return true;
}

double Workers::seconds_of(std::size_t position, std::size_t member, double factor) const {
  const ComputeItem& item = stream_[position];
  if (!does(member, item.part)) return 0;
  const double nominal = stream_.seconds(position, members_[member].worker_class);
  return nominal * (item.device ? factor : 1) * draws_->layer_factor(member, item.layer);
}

bool Workers::work(std::size_t member, double limit) {
  Clock clock = clocks_[member];  // a copy whose address nobody takes: it stays in registers
  auto& parts = samples_[member].parts;
  const bool waits_for_collective =
      !clock.communicating && clock.collective < communication_.size();
  const std::size_t stop =
      waits_for_collective ? communication_[clock.collective].after : stream_.size();
  const std::optional<Slowdown> slow = slowdown_of(member, arrived_at(clock));
  bool finishes = true;
  double slowed = 0;
  for (; clock.item < stop && stream_[clock.item].type == ComputeItem::Type::work; ++clock.item) {
    const ComputeItem& item = stream_[clock.item];
    if (clock.remaining < 0) {  // not begun
      const double begin = launched(member, item.launched);
      finishes = begin <= limit;
      if (!finishes) break;
      parts[static_cast<std::size_t>(Part::host)] += std::max(0.0, begin - clock.now);
      clock.now = std::max(clock.now, begin);
      clock.remaining = seconds_of(clock.item, member, clock.factor);
    }
    const double slowdown = factor_of(item, slow);
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
