#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "strategies/parts/poster.hpp"

namespace gradwire {

/// Work for a lane.
struct LaneItem {
  Bytes size{0};
  std::vector<TensorId> tensors{};
  std::string label{};
  std::int64_t priority = 0;                    ///< the smallest goes first, then the oldest
  Poster::Then then{};                          ///< called when it has ended
  std::optional<Messages::ServerEnd> server{};  ///< of messages
  std::uint64_t key = 0;                        ///< the strategy's number of what travels
  Operations beside{};                          ///< posted with it; it ends when these have, too
};

/// The item under a name that begins with `what`, and with what follows it.
[[nodiscard]] LaneItem labelled(const char* what, LaneItem item, Poster::Then then);

/// Something that does one thing after the other: a copy engine, a connection, a thread. What waits
/// goes by priority, then in the order it came; what is under way is not interrupted.
class Lane {
 public:
  /// Makes the operation that does an item.
  using Make = std::function<Operation(LaneItem)>;

  static constexpr int unlimited = std::numeric_limits<int>::max();

  /// @param together  while the lane is busy, items that wait may be joined up to this size, and
  ///                  then end together; 0: each goes alone.
  /// @param width     so many are under way at a time.
  Lane(Poster& poster, Make make, Bytes together = Bytes{0}, int width = 1)
      : poster_(&poster), make_(std::move(make)), together_(together), free_(width) {}
  /// So many items, all of one priority, may be under way on a connection.
  struct Window {
    int width = 1;
  };
  /// What waits goes on before what follows the item that has ended.
  Lane(Poster& poster, Make make, Window window) : Lane(poster, std::move(make), {}, window.width) {
    refills_first_ = true;
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void add(LaneItem item);

 private:
  /// Takes the next one that waits.
  void start();
  /// @param others  what follows those that go with it.
  void begin(LaneItem load, std::vector<Poster::Then> others);
  void finish(const Poster::Then& then, const std::vector<Poster::Then>& others);

  Poster* poster_;
  Make make_;
  Bytes together_;
  int free_;  ///< so many more may be under way
  bool refills_first_ = false;
  std::int64_t added_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, LaneItem> waiting_;  // by priority, then age
};

/// For lanes whose items are messages of an exchange.
/// @param coded  a compressor queues them, by their priority.
[[nodiscard]] Lane::Make messages_by(int exchange, bool coded = false);

}  // namespace gradwire
