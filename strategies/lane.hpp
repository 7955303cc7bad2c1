#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "strategies/poster.hpp"

namespace gradwire {

/// Work for a lane.
struct LaneItem {
  Bytes size{0};
  std::vector<TensorId> tensors{};
  std::string label{};
  std::int64_t priority = 0;  ///< the smallest goes first, then the oldest
  Poster::Then then{};        ///< called when it has ended
};

/// Something that does one thing after the other: a copy engine, a connection, a thread. What waits
/// goes by priority, then in the order it came; what is under way is not interrupted.
class Lane {
 public:
  /// Makes the operation that does an item.
  using Make = std::function<Operation(const LaneItem&)>;

  /// @param together  while the lane is busy, items that wait may be joined up to this size, and
  ///                  then end together; 0: each goes alone.
  Lane(Poster& poster, Make make, Bytes together = Bytes{0})
      : poster_(&poster), make_(std::move(make)), together_(together) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void add(LaneItem item);

 private:
  void start();
  void finish();

  Poster* poster_;
  Make make_;
  Bytes together_;
  bool busy_ = false;
  std::int64_t added_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, LaneItem> waiting_;  // by priority, then age
  std::vector<Poster::Then> under_way_;
};

/// For lanes whose items are messages of an exchange.
[[nodiscard]] Lane::Make messages_by(int exchange);

}  // namespace gradwire
