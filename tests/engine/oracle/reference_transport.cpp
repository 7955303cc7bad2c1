#include "tests/engine/oracle/reference_transport.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <utility>

#include "tests/engine/oracle/max_min.hpp"

namespace gradwire {
namespace {

/// Flows that end within this share of the step, or of the clock, end together.
constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();

class ReferenceTransport final : public Transport {
 public:
  explicit ReferenceTransport(FlowProblem problem) : problem_(std::move(problem)) {}

  void start(std::uint32_t column, double bytes, double rate_cap, Token token) override {
    assert(bytes > 0 && rate_cap > 0);
    flows_.push_back({column, bytes, rate_cap, token});
  }

  void wake_at(Seconds when) override { wake_ = std::min(when.count(), wake_.value_or(never)); }

  void run(Listener& listener) override {
    try {
      while (!flows_.empty() || wake_) step(listener);
    } catch (...) {
      flows_.clear();
      wake_.reset();
      throw;
    }
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct Flow {
    std::uint32_t column = 0;
    double left = 0;  ///< bytes
    double cap = 0;
    Token token = 0;
    double duration = 0;  ///< seconds to its end at the present rate
  };

  void step(Listener& listener) {
    std::vector<ColumnFlow> capped;
    for (const Flow& flow : flows_) capped.push_back({flow.column, flow.cap});
    const std::vector<double> rates = rates_in_turn(problem_, capped);
    double duration = wake_.value_or(never) - now_;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      flows_[f].duration = flows_[f].left / rates[f];
      duration = std::min(duration, flows_[f].duration);
    }
    const bool woken = wake_ && now_ + duration >= *wake_;
    now_ = woken ? *wake_ : now_ + duration;
    if (woken) wake_.reset();
    for (std::size_t f = 0; f < flows_.size(); ++f) flows_[f].left -= rates[f] * duration;
    std::vector<Token> ended;
    std::erase_if(flows_, [&](const Flow& flow) {
      const bool ends = flow.duration <= duration + rounding * (duration + now_);
      if (ends) ended.push_back(flow.token);
      return ends;
    });
    listener.on_instant(Seconds{now_}, ended);
  }

  FlowProblem problem_;
  std::vector<Flow> flows_;
  std::optional<double> wake_;
  double now_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_reference_transport(FlowProblem problem) {
  return std::make_unique<ReferenceTransport>(std::move(problem));
}

}  // namespace gradwire
