#pragma once

#include <map>
#include <string>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// What a tensor went through, under the original's name.
struct TensorPhase {
  TensorId tensor = 0;
  std::string name;  ///< "NEGOTIATE_ALLREDUCE"
  Seconds start;
  Seconds end;
};

/// The phases of every tensor, noted while somebody wants them.
class TensorPhases {
 public:
  void on() { on_ = true; }

  /// Notes that tensors went through it; lengthens the one before of the same name that ends where
  /// this one starts. Nothing for one that takes no time.
  void add(const std::vector<TensorId>& tensors, const std::string& name, Seconds start,
           Seconds end);

  /// In the order of their ends.
  [[nodiscard]] const std::vector<TensorPhase>& phases() const { return phases_; }

 private:
  bool on_ = false;
  std::vector<TensorPhase> phases_;
  std::map<TensorId, std::size_t> last_;  ///< of each tensor, index into phases_
};

/// A strategy whose original prints a timeline with a row a tensor.
class TensorTimeline {
 public:
  virtual ~TensorTimeline() = default;

  /// To be called before the run. @param on_gpu  the job's collectives are NCCL's.
  virtual void record(bool on_gpu) = 0;
  /// Of the run so far.
  [[nodiscard]] virtual const std::vector<TensorPhase>& phases() const = 0;
};

}  // namespace gradwire
