#pragma once

#include <cstddef>
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

/// A pipeline of one step sends whole messages on, of which few move at one time.
constexpr bool forwards_messages(Coupling coupling, int steps) {
  return coupling == Coupling::pipeline && steps == 1;
}

/// Its flows advance together, as one body. In one step nothing does: whole messages are sent on,
/// or none is.
constexpr bool moves_as_one(Coupling coupling, int steps) {
  return coupling != Coupling::independent && steps > 1;
}

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

/// Flows of a phase that follow each other, where they stand or on a machine like that one.
struct FlowRun {
  std::uint32_t begin = 0;  ///< index into Phase::flows
  std::uint32_t size = 0;
  int machine = 0;  ///< so many machines further, see MachineFold
};

/// Flows that start together; the next phase starts when all have ended. Within a group the flows
/// of a ring stand in its order: each one's destination is the next one's source; those of a
/// pipeline after the flows that they wait for.
struct Phase {
  std::vector<PatternFlow> flows;
  int steps = 1;
  Coupling coupling = Coupling::independent;
  /// Of a folded pattern: all flows in their order, each of `flows` once on machine 0. Else empty.
  std::vector<FlowRun> runs{};

  [[nodiscard]] std::size_t flow_count() const;
  /// Calls visit(index into `flows`, machines further) for each flow in order.
  template <class Visit>
  void visit_flows(Visit visit) const {
    if (runs.empty()) {
      for (std::size_t i = 0; i < flows.size(); ++i) visit(i, 0);
    }
    for (const FlowRun& run : runs) {
      for (std::uint32_t i = 0; i < run.size; ++i) visit(std::size_t{run.begin} + i, run.machine);
    }
  }
};

/// Machines that are alike: where a flow of the first one stands for one of machine m, its ranks
/// are m `ranks` further and its links m `links`. Over links of a machine that such flows use no
/// other flow passes, so that what is asked of links alone is given by `Phase::flows`.
struct MachineFold {
  int machines = 0;       ///< 0: the pattern is not folded
  int ranks = 0;          ///< of a machine
  LinkId links = 0;       ///< of a machine
  LinkId first_link = 0;  ///< of the first machine
  /// Those of a machine, counted from its first one, that flows pass on others than the first
  /// machine, rising.
  std::vector<LinkId> passed{};
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
  MachineFold fold{};
  /// Equal for equal patterns over equal links, so that what is derived from a pattern can be kept;
  /// 0 when not computed. Planners call seal().
  std::uint64_t key = 0;

  void seal();  ///< computes `key`
  [[nodiscard]] bool is_folded() const { return fold.machines > 0; }
};

/// The ranks of each channel in the order of its ring (first phase), for printing.
/// REQUIRES: the first phase is a ring.
[[nodiscard]] std::vector<std::vector<int>> ring_orders(const Pattern& pattern);

}  // namespace gradwire
