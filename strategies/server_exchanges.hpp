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

  /// The first rank of every machine sends the whole to a server.
  [[nodiscard]] Exchange push(int server, int connections) const;
  /// A server sends the whole to every machine.
  [[nodiscard]] Exchange pull(int server, int connections) const;
  /// Every rank sends the whole to a server, from its GPU.
  [[nodiscard]] Exchange push_by_rank(int server, int connections) const;
  /// A server sends the whole to every rank, to its GPU.
  [[nodiscard]] Exchange pull_by_rank(int server, int connections) const;
  /// Every GPU copies its part of a vector to host memory that up to `group` ranks of its machine
  /// share, at the socket of the first of them; the parts are equal, one for each of these ranks.
  /// Source: BytePS, byteps/common/shared_memory.cc: a buffer for each PCIe switch, and one segment
  /// lies where it is first touched (by the first rank: assumed).
  [[nodiscard]] Exchange copy_to_host(int group) const;
  /// The same back.
  [[nodiscard]] Exchange copy_to_gpus(int group) const;
  /// The first GPU of each machine copies the whole to host memory.
  [[nodiscard]] Exchange copy_from_root() const;
  /// The same back.
  [[nodiscard]] Exchange copy_to_root() const;

 private:
  [[nodiscard]] Endpoint place(int server) const {
    return places_[static_cast<std::size_t>(server)];
  }
  /// The part of a vector between `rank`'s GPU and the memory of its group.
  struct Share {
    Endpoint memory;
    double part = 1;
  };
  [[nodiscard]] Share share_of(int rank, int group) const;

  std::vector<int> machine_of_;             ///< by rank
  std::vector<int> roots_;                  ///< first rank of each machine that holds ranks
  std::vector<Endpoint> places_;            ///< by server
  std::vector<int> server_machine_;         ///< by server
  std::vector<std::vector<int>> ranks_on_;  ///< by machine
  int local_size_ = 1;
};

}  // namespace gradwire
