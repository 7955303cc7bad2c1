#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/engine/network.hpp"
#include "sim/train/workers.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// Notices that a run repeats itself: in a period of iterations operations are posted and end, each
/// pattern begins and ends to move as many bytes, and each rank's time goes where it went one
/// period before, as long after the iteration's start. Nothing then tells the time that follows
/// from the one that followed then, but what a strategy does by the iteration's number:
/// Strategy::phasing() says after how many that repeats.
///
/// Times are the same within `same_time` of the iteration: rounding. Two that are as near to each
/// other may come in another order, and what is posted then gets other numbers. What moves is known
/// by its pattern: its order means nothing to what shares links. Other operations are known by the
/// order in which they were posted to their queue: there they may stand behind one another.
class Repeats {
 public:
  static constexpr double same_time = 1e-9;

  /// @param period  iterations, >= 1.
  explicit Repeats(int period) : period_(static_cast<std::size_t>(period)) {}

  /// @param queue  a number of what never waits for other queues' operations; 0: that of all that
  ///               have none of their own.
  void posted(OperationId operation, double when, int queue = 0) {
    const auto index = static_cast<std::size_t>(operation - now_.first);
    if (now_.queues.size() <= index) now_.queues.resize(index + 1, 0);
    now_.queues[index] = queue;
    note(operation, {}, posted_then, when);
  }
  void began(OperationId operation, PatternId pattern, double bytes, double when) {
    moving_.emplace(operation, pattern);
    note(operation, pattern, bytes, when);
  }
  void ended(OperationId operation, double when);
  /// An iteration of all ranks has ended, and with it the next one begins.
  /// @param next  the operation that is posted next.
  void iteration_ended(double now, OperationId next, const std::vector<IterationSample>& samples);
  /// The last period's iterations are those of the period before it.
  [[nodiscard]] bool is_steady() const { return alike_ >= period_; }
  /// Those of the iteration `ahead` behind the last, from 1, where all goes on as it did.
  /// REQUIRES: is_steady().
  [[nodiscard]] const std::vector<IterationSample>& samples(std::size_t ahead) const {
    return past_[past_.size() - period_ + (ahead - 1) % period_].samples;
  }

 private:
  /// In place of bytes.
  static constexpr double posted_then = -2;
  static constexpr double ended_then = -1;

  struct Note {
    std::optional<PatternId> pattern;  ///< that moves
    int queue = 0;                     ///< of others
    OperationId operation = 0;         ///< less the iteration's first; see tell_apart()
    double bytes = 0;                  ///< that begin to move, or what else was then
    double when = 0;                   ///< less the iteration's start
    auto operator<=>(const Note&) const = default;
  };
  struct Iteration {
    double start = 0;
    double lasted = 0;
    OperationId first = 0;
    OperationId operations = 0;
    std::vector<int> queues;  ///< of these operations
    std::vector<Note> notes;
    std::vector<IterationSample> samples;
  };

  void note(OperationId operation, std::optional<PatternId> pattern, double bytes, double when) {
    now_.notes.push_back({pattern, 0, operation - now_.first, bytes, when - now_.start});
  }
  /// Numbers those operations that move nothing in their queues, and takes the others' numbers.
  void tell_apart();
  [[nodiscard]] static bool same(const Iteration& one, const Iteration& other);

  std::size_t period_;
  std::size_t alike_ = 0;  ///< so many iterations in a row were those of one period before
  Iteration now_;
  std::unordered_map<OperationId, PatternId> moving_;
  std::deque<Iteration> past_;  ///< the last period's, and one more while it is compared
};

}  // namespace gradwire
