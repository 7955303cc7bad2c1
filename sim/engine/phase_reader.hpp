#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/collectives/link_slots.hpp"
#include "sim/collectives/pattern.hpp"
#include "sim/core/cluster_link.hpp"
#include "sim/core/index.hpp"
#include "sim/engine/link_types.hpp"
#include "sim/engine/pair_index.hpp"
#include "sim/engine/quotient.hpp"

namespace gradwire {

/// Reads one phase.
class PhaseReader {
 public:
  using Number = PairIndex::Number;

  /// A group of a phase as one flow of a small problem.
  struct Body {
    Number kind = 0;  ///< bodies of a kind take equally long, whatever the cost
    double share = 0;
    GroupClass told;
  };

  explicit PhaseReader(ClusterLinks links) : links_(links), types_(link_types(links)) {}

  /// @return false where the phase is none of rings or pipelines that are rigid.
  bool read(const Pattern& pattern, const Phase& phase);
  /// Its groups, once.
  [[nodiscard]] std::vector<Body> take_bodies() { return std::exchange(bodies_, {}); }
  /// Those of its flows, once.
  [[nodiscard]] std::vector<FlowClass> take_classes() { return std::exchange(classes_, {}); }

  /// What its links let through: a capacity, and how often each body passes.
  struct Row {
    double capacity = 0;
    std::vector<std::pair<Number, Number>> bodies;  ///< (body, times)
  };
  /// For each way in which bodies pass a link.
  [[nodiscard]] std::vector<Row> rows();

 private:
  static constexpr Number none = static_cast<Number>(-1);

  /// A link in this phase.
  struct Passage {
    Number sort = 0;   ///< at first how many flows pass, then the sort that it is
    Number state = 0;  ///< which bodies passed before the last one, a number of states_; 0: none
    Number last = 0;   ///< the last one that passed,
    Number times = 0;  ///< and how often; 0: none has
  };
  /// Links of one type over which equally many flows pass.
  struct Sort {
    LinkType link;
    double rate = 0;  ///< of each flow when all have an equal part
  };
  /// A chain of flows on another machine than the first one. Where as much has arrived at the
  /// machine's ranks, it does the same on any: there are millions, and few that differ.
  struct Chain {
    bool is_rigid = true;
    double share = 0;
    std::vector<std::pair<Number, Number>> classes;  ///< (class, flows)
    std::vector<Number> stages;
    std::vector<Number> arrived;  ///< at the machine's ranks afterwards
  };
  using ChainKey = std::vector<Number>;  ///< of its run, then what arrived before at each rank
  using ClassKey = std::tuple<double, std::int64_t, Hop, double, double>;

  [[nodiscard]] Passage& passage(LinkId id) { return passages_[slots_[id]]; }
  [[nodiscard]] static std::span<const LinkId> path_of(const Pattern& pattern,
                                                       const PatternFlow& flow) {
    return std::span(pattern.path_links).subspan(flow.path_begin, flow.path_size);
  }
  /// Flows are met in no order, and their links wait for memory unless asked for before. Always
  /// inlined: to g++ 12 a call of it has no effect, and is taken out.
  [[gnu::always_inline]] void ask_for(const Pattern& pattern, const Phase& phase,
                                      std::size_t flow) const {
    constexpr std::size_t ahead = 6;
    if (flow + ahead >= phase.flows.size()) return;
    for (const LinkId id : path_of(pattern, phase.flows[flow + ahead])) {
      __builtin_prefetch(&passages_[slots_[id]]);
    }
  }
  void count_flows(const Pattern& pattern, const Phase& phase);
  /// What has passed, the last body included.
  [[nodiscard]] Number state_of(const Passage& link) {
    return link.times == 0 ? link.state
                           : states_.of(link.state, passing_.of(link.last, link.times));
  }
  /// Adds a flow to the group that was begun last. @return false where it is not rigid.
  bool add_flow(const Pattern& pattern, const Phase& phase, std::size_t index);
  /// The same of a run of flows of another machine.
  bool add_run(const Pattern& pattern, const Phase& phase, const FlowRun& run);
  /// What such a run does here and now.
  const Chain& chain_of(const Pattern& pattern, const Phase& phase, const FlowRun& run);
  [[nodiscard]] Chain read_chain(const Pattern& pattern, const Phase& phase, const FlowRun& run);
  /// What has arrived at the ranks of a machine.
  [[nodiscard]] std::span<Number> arrived_at(const Pattern& pattern, int machine);
  /// The group of the next flows. @return false where its flows do not stand side by side.
  bool begin_group(const PatternFlow& flow);
  /// Counts flows of a class in the group that was begun last.
  void count_class(Number flow_class, Number flows);
  void meet(Number stage);
  void end_group();
  /// The class of a flow. @return none where all collectives share its connections.
  Number class_of(const Pattern& pattern, const Phase& phase, std::size_t index);
  Number find_class(const Pattern& pattern, const PatternFlow& flow);
  /// What a flow of a pipeline waits for makes it a stage; its end is what others wait for.
  Number stage_of(Number flow_class, std::size_t source, std::size_t destination);
  void tell_stages(GroupClass& told) const;
  Number kind_of(double share, const GroupClass& told);

  ClusterLinks links_;
  std::vector<FlowClass> classes_;
  std::vector<LinkType> types_;
  LinkSlots slots_;
  std::vector<Passage> passages_;  ///< by its number in slots_
  std::vector<Sort> sorts_;
  std::unordered_map<ClassKey, Number, boost::hash<ClassKey>> class_index_;
  std::pair<ClassKey, Number> last_class_{{}, none};
  std::vector<Number> flow_classes_;  ///< of a folded phase's flows: they come again and again
  std::unordered_map<ChainKey, Chain, boost::hash<ChainKey>> chains_;  ///< looked up, never walked
  ChainKey chain_key_;                                                 ///< of the last one,
  const Chain* chain_ = nullptr;                                       ///< which is this
  int group_ = 0;                                                      ///< the present one
  std::vector<bool> seen_;                                             ///< [group]: it was begun
  PairIndex passing_;                                                  ///< (body, times)
  PairIndex states_{1};  ///< (state before, of passing_)
  // Of pipelines.
  PairIndex stages_;                    ///< (class, arrivals before)
  PairIndex arrivals_{1};               ///< (arrivals before, stage); 0: none
  std::vector<Number> arrived_;         ///< at each rank, in the present group; none: no pipeline
  std::vector<std::size_t> reached_;    ///< ranks where something has, unless folded
  std::vector<Number> stages_met_;      ///< of the present group
  std::vector<Number> stage_met_in_;    ///< [stage]: the last body that has it
  std::vector<Number> class_met_in_;    ///< [class]
  std::vector<std::uint32_t> members_;  ///< [class]: index of a group's member
  std::map<std::pair<double, std::vector<Number>>, Number> kinds_;
  std::vector<Body> bodies_;
};

}  // namespace gradwire
