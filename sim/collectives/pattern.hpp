#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/cluster.hpp"

namespace gradwire {

enum class CollectiveKind : std::uint8_t { all_reduce, broadcast };

/// How the flows of a phase depend on each other.
enum class Coupling : std::uint8_t {
  /// Each flow runs by itself.
  independent,
  /// `steps` rounds; in each, every rank sends 1/steps of its share to the next rank of its group.
  /// A message waits for this rank's previous message and for the one it forwards.
  ring,
  /// A pipeline: the data pass hop after hop in `steps` pieces; a piece leaves a rank after it
  /// arrived and after the piece before it has left.
  chain,
};

/// One sender-receiver pair of a phase.
struct PatternFlow {
  int source = 0;       ///< rank within the communicator
  int destination = 0;  ///< rank within the communicator
  double share = 0;     ///< bytes moved by this flow / size of the collective
  int group = 0;        ///< channel: flows of one group advance together unless independent
  std::uint32_t path_begin =
      0;  ///< the links: Pattern::path_links[path_begin, path_begin+path_size)
  std::uint32_t path_size = 0;
};

/// Flows that start together; the next phase starts when all have ended. Within a group the flows
/// stand in the order of the ring or the chain: each flow's destination is the next one's source.
struct Phase {
  std::vector<PatternFlow> flows;
  int steps = 1;
  Coupling coupling = Coupling::independent;
};

/// What a planner makes of (kind, algorithm, communicator, cluster): who sends what share to whom
/// over which links. Free of sizes and times, so it is planned and reduced once.
struct Pattern {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< "ring", "chain"
  int ranks = 0;
  int machines = 0;  ///< that the ranks live on
  int channels = 0;
  std::vector<Phase> phases;
  std::vector<LinkId> path_links;
  /// Equal for equal patterns over equal links, so that what is derived from a pattern can be kept;
  /// 0 when not computed. Planners call seal().
  std::uint64_t key = 0;

  void seal();  ///< computes `key`
  /// Bytes that a rank sends / size of the collective, the largest over ranks.
  [[nodiscard]] double share_per_rank() const;
};

/// The ranks of each channel in the order of its ring or chain (first phase), for printing.
[[nodiscard]] std::vector<std::vector<int>> ring_orders(const Pattern& pattern);

}  // namespace gradwire
