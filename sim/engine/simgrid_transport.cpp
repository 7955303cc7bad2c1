#include "sim/engine/simgrid_module.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
// Not complete by themselves in SimGrid 3.32: after the others.

#include <simgrid/version.h>
#include <xbt/log.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <csignal>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>

/// SimGrid's clock (EngineImpl.hpp of 3.32, not installed), null where another version has it
/// elsewhere.
extern double simgrid_now __asm__("_ZN7simgrid6kernel10EngineImpl4now_E") __attribute__((weak));

namespace gradwire {
namespace {

namespace sg4 = simgrid::s4u;
using simgrid::kernel::timer::Timer;

/// SimGrid counts whole bytes. In units of 2^-20 byte a message of 100 bytes is exact to 1e-8 of a
/// byte, and 8 TB still fit into 63 bits.
constexpr double units_per_byte = 1048576;

/// Latency of the one link of a route that has any, in seconds. CM02 shares a link in proportion to
/// 1/latency of the route: equal latencies give plain max-min fairness. latency-factor 0 keeps it
/// from being charged.
constexpr double equal_penalty = 1;

/// A lane is a way for one flow at a time: a column's rows and a link of its own, its rate cap.
/// SimGrid 3.32 takes no link after the start, so they are made beforehand: this many a column on
/// average, which is the number of whole collectives in flight at once, and no less than the least.
constexpr std::size_t lanes_per_column = 8;
constexpr std::size_t lanes_least = 256;

/// Ends this near to each other, relative to SimGrid's clock, belong to one instant.
constexpr double same_instant = 8 * std::numeric_limits<double>::epsilon();

struct FlowLane {
  sg4::Host* source = nullptr;
  sg4::Host* destination = nullptr;
  sg4::Link* cap = nullptr;
  double cap_rate = 0;  ///< bytes per second
};

class SimGridTransport final : public Transport {
 public:
  explicit SimGridTransport(FlowProblem problem);
  ~SimGridTransport() override;
  SimGridTransport(const SimGridTransport&) = delete;
  SimGridTransport& operator=(const SimGridTransport&) = delete;
  SimGridTransport(SimGridTransport&&) = delete;
  SimGridTransport& operator=(SimGridTransport&&) = delete;

  void start(std::uint32_t column, double bytes, double rate_cap, Token token) override;
  void wake_at(Seconds when) override;
  void run(Listener& listener) override;
  [[nodiscard]] std::string solver() const override { return "simgrid"; }
  [[nodiscard]] Seconds clock_start() const override { return Seconds{clock_start_}; }

 private:
  struct Flow {
    SimGridTransport* owner = nullptr;
    sg4::CommPtr comm;  ///< SimGrid keeps a bare pointer: this one holds it
    std::uint32_t column = 0;
    std::uint32_t lane = 0;
    Token token = 0;
  };

  static void on_completion(const sg4::Activity& activity);
  void create_rows(sg4::NetZone& zone);
  void create_lanes(sg4::NetZone& zone);
  std::uint32_t take_lane(std::uint32_t column);
  Flow& take_flow();
  void on_end(Flow& flow);
  void notice(double when);
  void report();
  void drop_all();
  [[nodiscard]] double clock() const { return sg4::Engine::get_clock() - clock_start_; }

  static SimGridTransport* active;

  FlowProblem problem_;
  std::unique_ptr<sg4::Engine> engine_;
  double clock_start_;  ///< 0, but where SimGrid's clock goes on from the engine before
  sg4::NetZone* zone_ = nullptr;
  std::vector<sg4::Link*> rows_;
  std::vector<FlowLane> lanes_;
  std::size_t lanes_bound_ = 0;                   ///< lanes that belong to a column
  std::vector<std::vector<std::uint32_t>> idle_;  ///< column -> lanes
  std::deque<Flow> flows_;                        ///< SimGrid points at them
  std::vector<Flow*> free_flows_;
  std::size_t in_flight_ = 0;
  std::vector<double> wakes_;  ///< pending ones; each is earlier than those before it
  std::vector<Token> ended_;
  std::vector<sg4::CommPtr> graveyard_;  ///< must outlive the callback that reports their end
  bool noticed_ = false;                 ///< a report is on its way
  double instant_ = 0;                   ///< its time
  double now_ = 0;
  Listener* listener_ = nullptr;
  std::exception_ptr error_;
  bool dropping_ = false;
};

SimGridTransport* SimGridTransport::active = nullptr;

/// Once a process: a second change of the model makes SimGrid abort, and a callback stays for good.
void configure_simgrid(void (*on_completion)(const sg4::Activity&)) {
  static bool done = false;
  if (std::exchange(done, true)) return;
  for (const char* setting :
       {"network/model:CM02", "network/optim:Full", "network/crosstraffic:no",
        "network/TCP-gamma:1e30", "network/latency-factor:0", "surf/precision:1e-12"}) {
    sg4::Engine::set_config(setting);
  }
#if SIMGRID_VERSION >= 33400  // each kind of activity has its own signal from here on
  sg4::Comm::on_completion_cb(on_completion);
#else
  sg4::Activity::on_completion_cb(on_completion);
#endif
}

/// SimGrid's clock goes on from engine to engine, and with it what rounding leaves of short times:
/// a result would depend on what ran before it. So it begins anew where nothing waits for it.
void rewind_clock() {
  const bool waits = Timer::next() >= 0;
  if (&simgrid_now != nullptr && !waits) simgrid_now = 0;
}

/// SimGrid's constructor takes SIGINT for itself, to leave by exit(1) from inside the handler: the
/// program's own handler comes back.
std::unique_ptr<sg4::Engine> make_simgrid() {
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  auto engine = std::make_unique<sg4::Engine>("gradwire");
  sigaction(SIGINT, &before, nullptr);
  return engine;
}

SimGridTransport::SimGridTransport(FlowProblem problem) : problem_(std::move(problem)) {
  assert(active == nullptr && "one SimGrid engine at a time");
  active = this;
  xbt_log_control_set("root.thresh:critical");
  rewind_clock();
  engine_ = make_simgrid();
  clock_start_ = sg4::Engine::get_clock();
  configure_simgrid(&SimGridTransport::on_completion);
  zone_ = sg4::create_empty_zone("cluster");
  create_rows(*zone_);
  create_lanes(*zone_);
  zone_->seal();
}

SimGridTransport::~SimGridTransport() {
  if (in_flight_ > 0) {
    drop_all();
    engine_->run();
  }
  graveyard_.clear();
  active = nullptr;
}

void SimGridTransport::create_rows(sg4::NetZone& zone) {
  for (const double capacity : problem_.capacity) {
    assert(std::isfinite(capacity) && capacity > 0);
    rows_.push_back(
        zone.create_link("row" + std::to_string(rows_.size()), capacity * units_per_byte));
  }
}

void SimGridTransport::create_lanes(sg4::NetZone& zone) {
  const std::size_t wanted = std::max(lanes_least, lanes_per_column * problem_.columns.size());
  std::vector<sg4::Host*> hosts;
  while (hosts.size() * (hosts.size() - 1) < wanted || hosts.size() < 2) {
    hosts.push_back(zone.create_host("end" + std::to_string(hosts.size()), 1));
  }
  lanes_.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t source = i / (hosts.size() - 1);
    const std::size_t other = i % (hosts.size() - 1);
    lanes_[i].source = hosts[source];
    lanes_[i].destination = hosts[other < source ? other : other + 1];
    lanes_[i].cap_rate = 1;
    lanes_[i].cap = zone.create_link("cap" + std::to_string(i), units_per_byte);
    lanes_[i].cap->set_latency(equal_penalty);
  }
  idle_.resize(problem_.columns.size());
}

std::uint32_t SimGridTransport::take_lane(std::uint32_t column) {
  auto& idle = idle_[column];
  if (!idle.empty()) {
    const std::uint32_t lane = idle.back();
    idle.pop_back();
    return lane;
  }
  if (lanes_bound_ == lanes_.size()) {
    throw TooManyFlows("more than " + std::to_string(lanes_.size()) + " flows at once over " +
                       std::to_string(problem_.columns.size()) + " classes");
  }
  FlowLane& lane = lanes_[lanes_bound_];
  std::vector<sg4::LinkInRoute> route{sg4::LinkInRoute(lane.cap)};
  for (const RowUse& use : problem_.columns[column]) {
    // A link that stands in a route k times counts k times: an integer weight.
    route.insert(route.end(), use.weight, sg4::LinkInRoute(rows_[use.row]));
  }
  zone_->add_bypass_route(lane.source->get_netpoint(), lane.destination->get_netpoint(), nullptr,
                          nullptr, route);
  return static_cast<std::uint32_t>(lanes_bound_++);
}

SimGridTransport::Flow& SimGridTransport::take_flow() {
  if (free_flows_.empty()) return flows_.emplace_back();
  Flow& flow = *free_flows_.back();
  free_flows_.pop_back();
  return flow;
}

void SimGridTransport::start(std::uint32_t column, double bytes, double rate_cap, Token token) {
  assert(bytes > 0 && rate_cap > 0 && !problem_.columns[column].empty());
  // No flow is faster than its rows, so this cap does not bind where there is none.
  double cap = rate_cap;
  for (const RowUse& use : problem_.columns[column]) {
    cap = std::min(cap, problem_.capacity[use.row]);
  }
  const std::uint32_t index = take_lane(column);
  FlowLane& lane = lanes_[index];
  if (lane.cap_rate != cap) {
    lane.cap->set_bandwidth(cap * units_per_byte);
    lane.cap_rate = cap;
  }
  Flow& flow = take_flow();
  flow = {this, sg4::Comm::sendto_init(lane.source, lane.destination), column, index, token};
  flow.comm->set_data(&flow);
  const double units = std::max(1.0, std::nearbyint(bytes * units_per_byte));
  flow.comm->set_payload_size(static_cast<std::uint64_t>(units));
  flow.comm->start();
  ++in_flight_;
}

void SimGridTransport::on_completion(const sg4::Activity& activity) {
  auto* flow = activity.get_data<Flow>();
  // cancel() reports twice.
  if (flow != nullptr && flow->comm != nullptr) flow->owner->on_end(*flow);
}

void SimGridTransport::on_end(Flow& flow) {
  graveyard_.push_back(std::exchange(flow.comm, nullptr));
  idle_[flow.column].push_back(flow.lane);
  free_flows_.push_back(&flow);
  --in_flight_;
  if (dropping_) return;
  ended_.push_back(flow.token);
  notice(clock());
}

void SimGridTransport::wake_at(Seconds when) {
  if (!wakes_.empty() && wakes_.back() <= when.count()) return;
  wakes_.push_back(when.count());
  const double date = std::max(clock_start_ + when.count(), sg4::Engine::get_clock());
  Timer::set(date, [this] {
    const double due = wakes_.back();
    wakes_.pop_back();
    if (dropping_) return;
    if (in_flight_ == 0 && !noticed_) {
      instant_ = due;
      report();
    } else {
      notice(due);
    }
  });
}

/// SimGrid runs timers before it reports the flows that end at the same date, and may find two
/// equal ends some roundings apart. So what happened is reported that much later.
void SimGridTransport::notice(double when) {
  if (noticed_) {
    instant_ = std::min(instant_, when);
    return;
  }
  noticed_ = true;
  instant_ = when;
  Timer::set(sg4::Engine::get_clock() * (1 + same_instant), [this] { report(); });
}

void SimGridTransport::report() {
  noticed_ = false;
  graveyard_.clear();
  if (dropping_) return;
  now_ = std::max(now_, instant_);
  const std::vector<Token> ended = std::exchange(ended_, {});
  try {
    listener_->on_instant(Seconds{now_}, ended);
  } catch (...) {
    error_ = std::current_exception();
    drop_all();
  }
}

void SimGridTransport::drop_all() {
  dropping_ = true;
  for (Flow& flow : flows_) {
    // The callback lets go of flow.comm while cancel() still works on it.
    if (const sg4::CommPtr comm = flow.comm; comm != nullptr) comm->cancel();
  }
}

void SimGridTransport::run(Listener& listener) {
  listener_ = &listener;
  engine_->run();
  graveyard_.clear();
  dropping_ = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace

}  // namespace gradwire

gradwire::Transport* gradwire_simgrid_transport(gradwire::FlowProblem& problem) {
  return std::make_unique<gradwire::SimGridTransport>(std::move(problem)).release();
}

const char* gradwire_simgrid_version() {
  return SIMGRID_VERSION_STRING;
}
