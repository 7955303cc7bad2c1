#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/train/contention.hpp"
#include "sim/train/operation_log.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

/// One entry of the compute stream, the same for every rank; its duration differs by rank.
struct ComputeItem {
  enum class Type : std::uint8_t {
    work,  ///< runs for `seconds` times the rank's factors
    gate,  ///< waits for operations
    mark,  ///< an operation that ends when all ranks have passed
    end    ///< the iteration ends here; the host waits for the device
  };
  Type type = Type::work;
  Part part = Part::other;
  double seconds = 0;  ///< nominal, of worker class 0
  /// Factor while a communication kernel is on the GPU, >= 1; nothing: what that kernel takes.
  std::optional<double> slowdown{};
  Bound bound = Bound::arithmetic;
  int layer = -1;        ///< whose residual it takes, -1: none
  bool device = true;    ///< scaled by the GPU's speed; false: host time
  double launched = 0;   ///< host time since the rank's iteration start, seconds
  std::size_t gate = 0;  ///< of a gate: which one of the stream
  OperationId mark = 0;  ///< of a mark
  /// In place of the name it is posted with, which millions of copies would take; outlives it.
  const std::string* script_name = nullptr;
};

/// What is posted on the compute streams of a class of ranks, from the start of the present
/// iteration on. Positions count from there.
class ComputeStream {
 public:
  /// @param classes  how many worker classes the ranks are of, at least 1.
  explicit ComputeStream(int classes) : other_classes_(static_cast<std::size_t>(classes - 1)) {}

  /// @param other_seconds  nominal times of worker classes 1, 2, ...; ignored but for work.
  void post(ComputeItem item, std::string name, std::span<const double> other_seconds = {});
  void post_gate(std::vector<OperationId> until);
  void post_mark(OperationId id);
  /// Forgets what stands before the iteration's end, and that; what was posted behind it stands
  /// first in the new one. @return how many items are gone.
  std::size_t drop_iteration();

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] const ComputeItem& operator[](std::size_t position) const {
    return items_[position];
  }
  [[nodiscard]] const std::string& name(std::size_t position) const {
    const std::string* of_script = items_[position].script_name;
    return of_script != nullptr ? *of_script : names_[position];
  }
  /// Nominal, of work.
  [[nodiscard]] double seconds(std::size_t position, int worker_class) const {
    if (worker_class == 0) return items_[position].seconds;
    return other_seconds_[position * other_classes_ + static_cast<std::size_t>(worker_class) - 1];
  }
  /// The operations that a gate waits for.
  [[nodiscard]] const std::vector<OperationId>& until(const ComputeItem& gate) const {
    return gates_[gate.gate].until;
  }
  /// Has all ended that a gate waits for? Asked by many ranks again and again: what has ended needs
  /// no second look.
  [[nodiscard]] bool is_open(const ComputeItem& gate, const OperationLog& log) const;
  /// When the last of these ended; 0 of none. REQUIRES: is_open().
  [[nodiscard]] double opens_at(const ComputeItem& gate, const OperationLog& log) const;
  /// Position of the iteration's end; size() or more where it is not posted.
  [[nodiscard]] std::size_t end() const { return end_; }
  /// Position of the first mark that was not taken; size() when there is none.
  [[nodiscard]] std::size_t first_mark() const {
    return marks_.empty() ? items_.size() : marks_.front();
  }
  /// REQUIRES: first_mark() < size(). @return its operation.
  OperationId take_mark();

 private:
  static constexpr std::size_t no_end = static_cast<std::size_t>(-1);

  struct Gate {
    std::vector<OperationId> until;
    mutable std::size_t ended = 0;  ///< so many of the first are known to have ended
  };

  std::vector<ComputeItem> items_;
  std::vector<std::string> names_;  ///< of the items
  std::size_t end_ = no_end;
  std::size_t other_classes_;
  std::vector<double> other_seconds_;  ///< [item * other_classes_ + class - 1]
  std::vector<Gate> gates_;
  std::deque<std::size_t> marks_;  ///< positions of those not taken, in order
};

}  // namespace gradwire
