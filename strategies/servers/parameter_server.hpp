#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "strategies/parts/lane.hpp"

namespace gradwire {

/// What a colocated pair moves through the kernel's loopback. Assumed; no source states it.
constexpr BytesPerSecond assumed_loopback_rate{5e9};

/// The update of a server that runs SGD with momentum, in sums: it reads gradient, momentum and
/// weight and writes two of them, five accesses of memory where a sum has three. Counted as two.
constexpr double update_passes = 2;

/// A server as the workers of a class see it: all push a key at the same time.
struct ParameterServerSpec {
  int push_exchange = 0;  ///< index into Strategy::exchanges(); that of pulls is the next one
  int first_thread = 0;   ///< HostWork's number of engine thread 0; one more is used than `threads`
  int threads = 1;        ///< engine threads
  Bytes together{0};  ///< pushes (pulls) that wait for the connection travel together up to this
  double passes = 1;  ///< over a vector, to sum it: copy the first push, add the others
  BytesPerSecond sum_rate{0};  ///< of an engine thread, bytes of a vector
  /// Of a pair on one machine, whose messages take no link; 0: as good as shared memory.
  BytesPerSecond loopback{0};
  /// Acknowledgement of a push and request of the pull, there and back.
  Seconds request{};
  bool blocking = false;  ///< it acknowledges a push when it has summed it, and not at once
  bool coded = false;     ///< a compressor queues what is pushed and pulled
  bool codes = false;     ///< a key's engine thread codes what of it comes and goes

  /// That of the `server`-th of servers which are alike, this one being the first.
  /// @param here  it is on a machine of the workers: their loopback carries its messages.
  [[nodiscard]] ParameterServerSpec of(int server, bool here) const;
};

/// A parameter server: connections that carry pushes and pulls in order, and engine threads that
/// sum. A key is pinned to a thread when it first comes, to that with the fewest bytes.
///
/// Source: ps-lite (one connection a pair); BytePS byteps/server/server.{h,cc} (GetThreadID).
class ParameterServer {
 public:
  ParameterServer(Poster& poster, const ParameterServerSpec& spec);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// The workers push; `item.key` is pinned to a thread.
  /// @param arrived  called when the push has been acknowledged; may be empty.
  /// `item.then` is called when the sum is there and the pull has been asked for.
  void push(LaneItem item, Poster::Then arrived = {});
  /// The server answers.
  void pull(LaneItem item);

 private:
  /// Over the loopback of a colocated pair, urgent ones first as on any connection; at once where
  /// there is none.
  void over_loopback(const LaneItem& item, Poster::Then then);
  void sum(LaneItem item);
  void code_by(LaneItem& message, bool sends);
  [[nodiscard]] std::size_t thread_of(const LaneItem& item);

  Poster* poster_;
  ParameterServerSpec spec_;
  Lane push_;
  Lane pull_;
  Lane loopback_;
  std::deque<Lane> engine_;      // by thread
  std::vector<Bytes> assigned_;  // bytes of the keys pinned to each thread
  std::unordered_map<std::uint64_t, std::size_t> pinned_;  // looked up only
};

}  // namespace gradwire
