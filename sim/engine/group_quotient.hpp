#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/cluster_link.hpp"
#include "sim/engine/phase_reader.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// A quotient whose rings and pipelines are made one of, as by Quotient::couple(), but without
/// their flows being refined first.
struct GroupQuotient {
  Quotient quotient;
  std::size_t flow_classes = 0;  ///< flows of a phase that take equally long uncontended
  std::size_t link_classes = 0;  ///< links of a phase over which each group passes equally often
};

/// Makes the quotient of large rings and trees. A group is a rigid body: of a link counts how often
/// each group passes it, and of a flow what it moves and how fast it would be uncontended. Links
/// are told apart by the first, flows of a group by the second and by what they wait for; what is
/// left, a few rows and columns, is refined as other problems are.
///
/// Time and memory follow flows and links, with a few words a link. REQUIRES: one pattern is in
/// flight at a time; what make_flow_graph requires.
class GroupReading {
 public:
  /// What it is given must outlive it.
  GroupReading(ClusterLinks links, std::span<const Pattern> patterns);

  /// How many phases with flows there are.
  [[nodiscard]] std::size_t phases() const { return phases_.size(); }
  /// Reads one of them: several may be read at the same time.
  void read(std::size_t phase);
  /// REQUIRES: all have been read.
  /// @return nothing where some flows are independent or forward whole messages, those of a group
  /// do not move equally much or do not stand side by side, or a pattern opens connections that all
  /// of it share.
  [[nodiscard]] std::optional<GroupQuotient> quotient() &&;

 private:
  struct Read {
    int pattern = 0;
    const Phase* phase = nullptr;
    bool is_rigid = false;
    std::vector<PhaseReader::Body> bodies{};
    std::vector<PhaseReader::Row> rows{};
    std::vector<FlowClass> classes{};
  };

  /// Appends a phase to a graph of bodies, as a part of its own.
  static void append(const Read& read, FlowGraph& graph);
  /// Puts the classes of all phases behind each other.
  [[nodiscard]] std::vector<FlowClass> number_classes();
  /// Of each class of bodies the first.
  [[nodiscard]] std::vector<const PhaseReader::Body*> first_of(const Partition& partition) const;

  ClusterLinks links_;
  std::span<const Pattern> patterns_;
  std::vector<Read> phases_;
};

}  // namespace gradwire
