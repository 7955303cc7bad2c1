#pragma once

#include <algorithm>
#include <map>

#include "strategies/knobs.hpp"

namespace gradwire {

/// What KungFu's processes, one a GPU, have of their machine.
struct KungfuHostOptions {
  BytesPerSecond sum_rate{0};  ///< of a core, bytes of the result
  /// Of a unix socket. Our measurement: 1 MiB messages on an Intel Xeon, 2026-11-20.
  BytesPerSecond socket_rate{2.3e9};
  /// Of a machine, all processes together: two Xeon E5-2698 v4 of 20 cores (DGX-1 data sheet).
  int cores = 40;
  /// Of a machine's memory, reads and writes together: 2 sockets, 4 channels of 8 bytes each,
  /// DDR4-2133 (DGX-1 data sheet). Nominal.
  BytesPerSecond memory_rate{2 * 4 * 8 * 2133e6};
};

/// Reads `cores` and `memory_rate`; `sum_rate`, not every strategy's knob, is HostCpu's.
[[nodiscard]] KungfuHostOptions read_kungfu_host(Knobs& knobs);

/// What a byte costs the process of a rank. A process has its even share of the machine's cores: Go
/// takes as many threads as there are, and the scheduler is fair to equal processes. A socket keeps
/// a core busy at each of its ends, one goroutine that writes and one that reads. A process's sums
/// take turns at one: those of a part do by a lock, that those of others do is assumed, and costs
/// nothing as long as the parts come through sockets that are slower. What is at work at the same
/// time shares the cores; the processes of a machine share its memory evenly.
///
/// Source: lsds/KungFu, srcs/go/rchannel/connection/connection.go (Send holds a mutex),
/// srcs/go/rchannel/server (a goroutine reads a connection) and srcs/go/kungfu/session/session.go
/// (runGraphs: recvOnto locks, sendOnto and sendInto are parallel).
class KungfuHost {
 public:
  /// @param job  whose ranks are the processes; of many that a few stand for, all are counted.
  KungfuHost(const KungfuHostOptions& options, const JobView& job);

  /// Cores of the process of a rank on this machine; below 1 where it shares one.
  [[nodiscard]] double cores(int machine) const;
  [[nodiscard]] int processes(int machine) const { return processes_.at(machine); }

  /// Seconds a byte of what a process does.
  struct Work {
    double turn = 0;   ///< of what takes turns by itself: each socket, or the sums
    double cores = 0;  ///< of all its cores, which everything that it does takes turns at
    [[nodiscard]] double longer() const { return std::max(turn, cores); }
  };
  /// It writes to, or reads from, so many sockets.
  /// @param active  processes of the machine that do so at the same time, one that writes and reads
  ///                counts twice. REQUIRES: both >= 1.
  [[nodiscard]] Work sockets(int machine, int count, int active) const;
  /// It adds so many arrays to its own, one after the other.
  /// @param active  processes of the machine that add at the same time. REQUIRES: both >= 1.
  [[nodiscard]] Work sums(int machine, int arrays, int active) const;

 private:
  KungfuHostOptions options_;
  std::map<int, int> processes_;  ///< of each machine
};

}  // namespace gradwire
