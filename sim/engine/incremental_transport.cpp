#include "sim/engine/incremental_transport.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "sim/engine/fair_rates.hpp"

namespace gradwire {
namespace {

/// What is due this near, relative to the clock, is due now.
constexpr double same_instant = 8 * std::numeric_limits<double>::epsilon();
/// The least slack, relative to a flow's time in flight: the rounding of some thousand changes of
/// its rate.
constexpr double slack_least = 1e-12;

/// Ends in the heap, over the streams in flight, at which the outdated ones are taken out.
constexpr std::size_t outdated_max = 4;
constexpr std::size_t heap_least = 64;

class IncrementalTransport final : public Transport {
 public:
  IncrementalTransport(const FlowProblem& problem, double slack)
      : rates_(problem, slack), slack_(std::max(slack, slack_least)) {}

  void start(std::uint32_t column, double bytes, double rate_cap, Token token) override {
    assert(bytes > 0 && rate_cap > 0);
    const FairRates::StreamId id = rates_.add(column, rate_cap);
    if (streams_.size() <= id) streams_.resize(id + 1);
    Stream& stream = streams_[id];
    if (stream.flows.empty()) {
      stream.served = stream.rate = 0;
      ++in_flight_;
    }
    advance(stream);
    stream.flows.push_back({stream.served + bytes, now_, token});
    std::ranges::push_heap(stream.flows, std::greater<>());
    if (stream.flows.front().token == token) note_end(id);
  }

  void wake_at(Seconds when) override { wake_ = std::min(when.count(), wake_.value_or(never)); }

  void run(Listener& listener) override {
    try {
      while (in_flight_ > 0 || wake_) step(listener);
    } catch (...) {
      drop_all();
      throw;
    }
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Flow {
    double target = 0;  ///< bytes that its stream has served each of its flows when it ends
    double started = 0;
    Token token = 0;
    auto operator<=>(const Flow&) const = default;
  };
  /// Flows with the same rate at all times: they end in the order of their targets.
  struct Stream {
    std::vector<Flow> flows;  ///< heap; the first to end at the front
    double served = 0;        ///< bytes of each flow since the stream began, at `since`
    double since = 0;
    double rate = 0;    ///< from `since` on
    double target = 0;  ///< the first flow's
    /// The first flow's end, and the one in the heap, no later than it; never: none is there.
    double end = never;
    double noted = never;
    std::uint32_t version = 0;  ///< of the end in the heap
  };
  struct End {
    double time = 0;
    FairRates::StreamId stream = 0;
    std::uint32_t version = 0;
    auto operator<=>(const End&) const = default;
  };

  void step(Listener& listener) {
    change_rates();
    drop_outdated();
    const double wake = wake_.value_or(never);
    double first = never;
    if (!ends_.empty()) first = std::max(now_, ends_.front().time);
    const bool woken = wake <= first * (1 + same_instant);
    now_ = woken ? wake : first;
    if (woken) wake_.reset();
    std::vector<Token> ended;
    // The latest that the ends taken so far may be reported; not past a wake-up.
    double latest = woken ? wake * (1 + same_instant) : wake;
    for (; !ends_.empty() && ends_.front().time <= latest; drop_outdated()) {
      const End end = ends_.front();
      if (!woken) now_ = std::max(now_, end.time);
      const Flow& flow = streams_[end.stream].flows.front();
      latest = std::min(latest, std::max(end.time * (1 + same_instant),
                                         end.time + slack_ * (end.time - flow.started)));
      ended.push_back(flow.token);
      drop_first(end.stream);
    }
    listener.on_instant(Seconds{now_}, ended);
  }

  void change_rates() {
    for (const FairRates::StreamId id : rates_.update()) {
      Stream& stream = streams_[id];
      if (stream.flows.empty()) continue;
      advance(stream);
      stream.rate = rates_.rate(id);
      change_end(id);
    }
    if (ends_.size() > heap_least + outdated_max * in_flight_) rebuild();
  }

  void advance(Stream& stream) const {
    stream.served += stream.rate * (now_ - stream.since);
    stream.since = now_;
  }

  /// The first flow of a stream is over.
  void drop_first(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    std::ranges::pop_heap(stream.flows, std::greater<>());
    stream.flows.pop_back();
    rates_.remove(id);
    if (!stream.flows.empty()) {
      note_end(id);
    } else {
      drop_end(stream);
      --in_flight_;
    }
  }

  void drop_all() {
    for (FairRates::StreamId id = 0; id < streams_.size(); ++id) {
      while (!streams_[id].flows.empty()) drop_first(id);
    }
    ends_.clear();
    wake_.reset();
  }

  // ---- the heap of the streams' first ends, some of them outdated -------------------------------

  void note_end(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    stream.target = stream.flows.front().target;
    change_end(id);
  }

  /// A stream's rate or first flow has changed.
  void change_end(FairRates::StreamId id) {
    Stream& stream = streams_[id];
    if (stream.rate == 0) return drop_end(stream);
    stream.end = stream.since + std::max(0.0, stream.target - stream.served) / stream.rate;
    if (stream.end >= stream.noted) return;  // its turn to be noted comes when the other is due
    ends_.push_back({stream.noted = stream.end, id, ++stream.version});
    std::ranges::push_heap(ends_, std::greater<>());
  }

  static void drop_end(Stream& stream) {
    ++stream.version;
    stream.end = stream.noted = never;
  }

  /// Until the first in the heap is a stream's end.
  void drop_outdated() {
    while (!ends_.empty()) {
      const auto [time, id, version] = ends_.front();
      Stream& stream = streams_[id];
      const bool outdated = stream.version != version;
      if (!outdated && stream.end == time) return;
      std::ranges::pop_heap(ends_, std::greater<>());
      if (outdated) {
        ends_.pop_back();
      } else {
        ends_.back().time = stream.noted = stream.end;
        std::ranges::push_heap(ends_, std::greater<>());
      }
    }
  }

  [[nodiscard]] bool is_outdated(const End& end) const {
    return streams_[end.stream].version != end.version;
  }

  void rebuild() {
    std::erase_if(ends_, [this](const End& end) { return is_outdated(end); });
    std::ranges::make_heap(ends_, std::greater<>());
  }

  FairRates rates_;
  double slack_;
  std::vector<Stream> streams_;  ///< by FairRates' numbers
  std::vector<End> ends_;
  std::size_t in_flight_ = 0;  ///< streams
  std::optional<double> wake_;
  double now_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_incremental_transport(const FlowProblem& problem, double slack) {
  return std::make_unique<IncrementalTransport>(problem, slack);
}

}  // namespace gradwire
