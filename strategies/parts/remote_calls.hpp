#pragma once

#include <cstdint>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// What remote calls that carry variables take of the CPU: gRPC over TCP, as TensorFlow uses it, a
/// call a variable. A process sends with `threads` threads and receives with as many others.
///
/// A process that sends or receives n bytes in k calls is busy for
///   (k * `call` + n / rate) / `threads`
/// in each direction, beside the transfer over the links.
///
/// Rates and `call`: our measurement of gRPC 1.51 (2026-11-21), unary calls over the loopback
/// between two processes on an Intel Xeon, CPU time: the sender, which hands over a tensor's
/// memory, takes 0.22 to 0.32 ns a byte at 1 to 64 MiB, the receiver, which copies into a tensor,
/// 0.35 to 0.44 ns; a call of 4 KiB takes 12 us of one and 15 us of the other.
struct RemoteCalls {
  int threads = 0;  ///< 0: calls take no CPU
  BytesPerSecond send_rate{1 / 0.26e-9};
  BytesPerSecond receive_rate{1 / 0.39e-9};
  Seconds call{14e-6};

  [[nodiscard]] bool cost() const { return threads > 0; }
  /// Time of a process's sending side. REQUIRES: cost().
  [[nodiscard]] Seconds sending(std::int64_t calls, Bytes size) const;
  /// Time of its receiving side. REQUIRES: cost().
  [[nodiscard]] Seconds receiving(std::int64_t calls, Bytes size) const;

  /// A process at an end of calls. It has two threads from `thread` on, one that sends.
  struct End {
    int thread = 0;
    double times = 1;  ///< it makes, or takes, each call
  };
  /// What both ends do while `size` in so many calls is on the links: the sender's, then the
  /// receiver's. REQUIRES: cost().
  [[nodiscard]] std::vector<HostWork> work(const End& sender, const End& receiver,
                                           std::int64_t calls, Bytes size) const;
};

/// Reads `rpc_threads`. @param threads  its default.
[[nodiscard]] RemoteCalls read_remote_calls(Knobs& knobs, int threads = 0);

}  // namespace gradwire
