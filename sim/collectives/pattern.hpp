#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/placement.hpp"

namespace gradwire {

/// What is exchanged. The size of a collective is, as in nccl-tests, that of the whole: of each
/// rank's vector (all_reduce, broadcast, reduce), of all ranks' parts together (reduce_scatter,
/// all_gather, all_to_all: of one rank's send buffer; gather, scatter: of the root's buffer), of
/// the message (send_recv: every rank sends it to the next). The root is rank 0.
enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv,
};

/// Every kind, in the order of the enumeration.
[[nodiscard]] std::span<const CollectiveKind> collective_kinds();
[[nodiscard]] std::string_view name_of(CollectiveKind kind);  ///< "all_reduce"
[[nodiscard]] std::optional<CollectiveKind> collective_kind(std::string_view name);

[[nodiscard]] bool reduces_values(CollectiveKind kind);  ///< has a reduction operator
[[nodiscard]] bool has_root(CollectiveKind kind);

/// Bus bandwidth / algorithm bandwidth of nccl-tests (doc/PERFORMANCE.md): 2(n-1)/n for all_reduce;
/// (n-1)/n for reduce_scatter, all_gather, all_to_all, gather, scatter; 1 for the others.
/// REQUIRES: ranks >= 1.
[[nodiscard]] double bus_factor(CollectiveKind kind, int ranks);

/// How the flows of a phase depend on each other.
enum class Coupling : std::uint8_t {
  /// Each flow runs by itself.
  independent,
  /// `steps` rounds; in each, every rank sends 1/steps of its share to the next rank of its group.
  /// A message waits for this rank's previous message and for the one it forwards.
  ring,
  /// The data pass hop after hop in `steps` pieces. A piece goes over a flow after it came over
  /// every flow before it in its group that ends where this one begins, and after the piece before
  /// it: a chain, or a tree upwards and then down again.
  pipeline,
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
/// of a ring stand in its order: each one's destination is the next one's source; those of a
/// pipeline after the flows that they wait for.
struct Phase {
  std::vector<PatternFlow> flows;
  int steps = 1;
  Coupling coupling = Coupling::independent;
};

/// What a planner makes of (kind, algorithm, communicator, cluster): who sends what share to whom
/// over which links. Free of sizes and times, so it is planned and reduced once.
struct Pattern {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< a name of algorithms()
  int ranks = 0;
  int machines = 0;  ///< that the ranks live on
  int channels = 0;
  /// TCP connections between two ranks, for all collectives; 0: as the ports say, for each flow.
  int connections = 0;
  std::vector<Phase> phases;
  std::vector<LinkId> path_links;
  /// Equal for equal patterns over equal links, so that what is derived from a pattern can be kept;
  /// 0 when not computed. Planners call seal().
  std::uint64_t key = 0;

  void seal();  ///< computes `key`
};

/// The ranks of each channel in the order of its ring (first phase), for printing.
/// REQUIRES: the first phase is a ring.
[[nodiscard]] std::vector<std::vector<int>> ring_orders(const Pattern& pattern);

}  // namespace gradwire
