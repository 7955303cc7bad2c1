#pragma once

#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// Who of the job's ranks lives where, and where its servers are, for strategies that talk to
/// parameter servers machine by machine.
///
/// Without servers in the job there is one on each of its machines.
class ServerLayout {
 public:
  explicit ServerLayout(const JobView& job);

  [[nodiscard]] int machines() const { return static_cast<int>(roots_.size()); }
  [[nodiscard]] int servers() const { return static_cast<int>(server_machine_.size()); }
  /// Ranks of the machine that has the most.
  [[nodiscard]] int local_size() const { return local_size_; }
  /// Is the server on a machine that holds ranks?
  [[nodiscard]] bool colocated(int server) const;

  /// The fewest ranks of a machine that has any.
  [[nodiscard]] int local_size_min() const;
  /// Ranks of each group of `part` (ranks_of_part) on the machine that has the most of these.
  [[nodiscard]] int part_size(int part) const;
  /// Buffers that a machine's CPU adds to that of its last group of `part` ranks, the most of all
  /// machines; 0 where no machine has several groups.
  [[nodiscard]] int other_parts(int part) const;
  /// Has a machine more ranks than `part`, and does `part` not divide them?
  [[nodiscard]] bool uneven(int part) const;

  /// Visits a push to each server and a pull from it, in turns. Every machine sends the whole, from
  /// the memory that its last `part` ranks share, and gets it there.
  void visit_machines(const ExchangeVisit& visit, int connections, int part = 0) const;
  /// The same of every rank, from its GPU and to it.
  void visit_ranks(const ExchangeVisit& visit, int connections) const;
  /// Every GPU copies its part of a vector to the host memory that its group of `part` ranks
  /// shares, at the socket of the first of them; the parts are equal, one for each of these ranks.
  /// Source: BytePS, byteps/common/shared_memory.cc: a buffer for each PCIe switch, and one segment
  /// lies where it is first touched (by the first rank: assumed).
  [[nodiscard]] Exchange copy_to_host(int part) const;
  /// The same back, from where each copied to.
  [[nodiscard]] Exchange copy_back(int part) const;
  /// Every GPU copies its part of a vector from the memory of its machine's last group, where the
  /// sum is (BytePS, operations.cc: cpubuff is pcie_cpubuff.back()).
  [[nodiscard]] Exchange copy_to_gpus(int part) const;
  /// The GPU `root` of each machine, counted from 0, copies the whole to the machine's memory.
  [[nodiscard]] Exchange copy_from_root(int root = 0) const;
  /// The same back.
  [[nodiscard]] Exchange copy_to_root(int root = 0) const;

 private:
  /// Visits a push from these places to each server and a pull into them.
  void visit_servers(const ExchangeVisit& visit, const std::vector<Endpoint>& workers,
                     int connections) const;
  [[nodiscard]] const std::vector<int>& ranks_beside(int rank) const {
    return ranks_on_[static_cast<std::size_t>(machine_of_[static_cast<std::size_t>(rank)])];
  }
  /// The memory that a machine's last group of `part` ranks shares.
  [[nodiscard]] static Endpoint last_memory(const std::vector<int>& ranks, int part);

  std::vector<int> machine_of_;             ///< by rank
  std::vector<int> roots_;                  ///< first rank of each machine that holds ranks
  std::vector<Endpoint> places_;            ///< by server
  std::vector<int> server_machine_;         ///< by server
  std::vector<std::vector<int>> ranks_on_;  ///< by machine
  int local_size_ = 1;
};

}  // namespace gradwire
