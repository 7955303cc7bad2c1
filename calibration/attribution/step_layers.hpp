#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibration/attribution/attribution.hpp"
#include "calibration/attribution/iterations.hpp"
#include "calibration/attribution/trace_index.hpp"

namespace gradwire::calibration {

/// The layers of one iteration and the ranges that belong to them.
class StepLayers {
 public:
  /// @param ranges  those that begin in the iteration, in the order of TraceIndex::ranges().
  StepLayers(const TraceIndex& index, std::vector<RangeId> ranges, std::uint32_t forward_thread);

  /// One layer's call, in forward order.
  struct Call {
    RangeId range = no_range;  ///< the module's or the operator's
    std::string name;          ///< not yet unique
    bool is_module = false;
    std::vector<RangeId> operators;
  };
  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  /// Names joined: equal for iterations that ran the same layers.
  [[nodiscard]] const std::string& signature() const { return signature_; }

  /// Layer of a forward range, or of one inside it; -1: none.
  [[nodiscard]] int forward_layer(RangeId range) const;
  /// Layer of an outermost backward node; -1: none of its own (the loss's).
  [[nodiscard]] int backward_layer(RangeId node) const;
  /// The outermost node that began last on a thread, at `time` or before; no_range: none.
  [[nodiscard]] RangeId node_before(std::uint32_t thread, Nanoseconds time) const;
  /// Outermost backward nodes of the iteration, by thread and start.
  [[nodiscard]] const std::vector<RangeId>& nodes() const { return nodes_; }

 private:
  void find_owners();
  void find_calls();
  void find_nodes();
  /// -1: none.
  [[nodiscard]] int layer_of_sequence(std::int64_t sequence) const;
  [[nodiscard]] bool is_operator(RangeId id) const;
  [[nodiscard]] bool inside_backward(RangeId id) const;
  [[nodiscard]] RangeId outermost_operator(RangeId id) const;
  [[nodiscard]] RangeId module_around(RangeId id) const;
  [[nodiscard]] bool in_model(RangeId top) const;
  void add_call(RangeId top);

  const TraceIndex& index_;
  std::uint32_t thread_;
  std::vector<RangeId> step_ranges_;
  std::unordered_map<std::int64_t, RangeId> owners_;  ///< sequence -> outermost operator
  /// From the begin of the first range of a module or of the wrapper to the end of the last;
  /// absent: there are none.
  std::optional<HostIteration> model_;
  std::unordered_map<NameId, bool> is_container_;  ///< module name -> holds other modules
  std::vector<Call> calls_;
  std::unordered_map<RangeId, int> layer_of_;       ///< by the range of a call or its operators
  std::unordered_map<RangeId, int> layer_of_node_;  ///< by outermost backward node
  std::vector<RangeId> nodes_;
  std::string signature_;
};

}  // namespace gradwire::calibration
