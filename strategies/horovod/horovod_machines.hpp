#pragma once

#include <map>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// The ranks of each machine, as Horovod's local and cross communicators see them.
struct HorovodMachines {
  explicit HorovodMachines(const JobView& job);

  std::map<int, std::vector<int>> ranks;  ///< by machine
  int local_ranks = 1;                    ///< of the machine that has most
  bool homogeneous = true;                ///< every machine has as many ranks

  /// The first rank of each machine.
  [[nodiscard]] std::vector<int> leaders() const;
  /// Cross communicators that send at once: one a local rank, on unequal machines the leaders'.
  [[nodiscard]] int cross_communicators() const { return homogeneous ? local_ranks : 1; }
  /// Every machine sends `share` to the next one, from and to host memory.
  [[nodiscard]] std::vector<Message> ring(double share) const;
};

}  // namespace gradwire
