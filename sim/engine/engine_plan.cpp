#include "sim/engine/engine_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/collectives/machine_fold.hpp"
#include "sim/core/parallel.hpp"
#include "sim/core/refusal.hpp"
#include "sim/engine/group_quotient.hpp"
#include "sim/engine/shared_rows.hpp"

namespace gradwire {
namespace {

/// `automatic` takes `step` up to this many ranks and messages in one collective. A single
/// collective is the same in both; where some overlap, `fluid` is within some percent. 64 messages
/// hold a ring of 6 ranks (60), and keep 160 collectives an iteration at some 20 ms.
constexpr int automatic_step_ranks_max = 16;
constexpr double automatic_step_messages_max = 64;

/// It takes `step` up to these, too, where rings within machines meet copies or a NIC's messages on
/// PCIe: of 313 jobs of BytePS on up to 128 GPUs 11 differed by more than 0.5 % from `fluid`, up to
/// 2.5 %, and `step` took twice its time. 2000 messages hold such a ring of 16 GPUs on 8 channels
/// (1920). Trees between machines have more, some 10 000; where a library says what they take alone
/// their bursts change nothing, else HSDP's differ by up to 4.4 % from `fluid`.
constexpr int meeting_step_ranks_max = 256;
constexpr double meeting_step_messages_max = 2000;
constexpr double meeting_step_messages_max_by_messages = 20'000;

/// Messages per second of `step`, where they do not contend: fast / (1 + live / half), with `live`
/// flows at a time. Source: tests/bench, step_messages, one core at 2.3 GHz (0.4 to 0.6 M/s at 256
/// and 512 flows), and 0.21 M/s at 1024 flows with SimGrid 3.32.
constexpr double step_messages_per_second = 0.5e6;
constexpr double step_live_half = 1000;

struct Work {
  int ranks = 0;
  double messages = 0;  ///< of the pattern that has the most
  double live = 0;      ///< flows of its widest phase
};

Work work_of(std::span<const Pattern> patterns) {
  Work most;
  for (const Pattern& pattern : patterns) {
    double messages = 0;
    double live = 0;
    for (const Phase& phase : pattern.phases) {
      const auto flows = static_cast<double>(phase.flow_count());
      messages += flows * phase.steps;
      live = std::max(live, flows);
    }
    most.ranks = std::max(most.ranks, pattern.ranks);
    most.live = std::max(most.live, live);
    most.messages = std::max(most.messages, messages);
  }
  return most;
}

/// `fluid` becomes `coupled` above this many flow classes: each costs SimGrid 5 to 500 us a
/// collective (tests/bench, collisions), and where collectives overlap the two differ by some
/// percent. Where one moves at a time they are equal, and few classes are enough: BERT-Large's 393
/// tensors at 4096 GPUs keep to their budget.
constexpr std::size_t fluid_classes_max = 2000;
constexpr std::size_t fluid_classes_max_alone = 64;

/// A ring or tree within machines (of a library that sets no times any collective there) passes a
/// PCIe link that copies or a NIC's messages pass, too.
bool meet_on_pcie(ClusterLinks links, std::span<const Pattern> patterns,
                  const EngineOptions& options) {
  std::vector<bool> by_rings(links.size(), false);
  std::vector<bool> by_others(links.size(), false);
  const auto is = [&](LinkKind kind) {
    return [links, kind](LinkId id) { return links[static_cast<std::size_t>(id)].kind == kind; };
  };
  for (const Pattern& pattern : patterns) {
    const bool has_messages = std::ranges::any_of(pattern.path_links, is(LinkKind::network));
    const bool has_rings = std::ranges::any_of(pattern.phases, [](const Phase& phase) {
      return moves_as_one(phase.coupling, phase.steps);
    });
    const bool is_ring = has_rings || !options.library_sets_times;
    auto& by = is_ring && !has_messages ? by_rings : by_others;
    for (const LinkId id : pattern.path_links) by[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t link = 0; link < links.size(); ++link) {
    if (by_rings[link] && by_others[link] && links[link].kind == LinkKind::pcie) return true;
  }
  return false;
}

/// The jobs, small enough for `step`, in which it is known to differ from `fluid`.
bool differ(ClusterLinks links, std::span<const Pattern> patterns, const Work& work,
            const EngineOptions& options) {
  const double messages_max = options.library_sets_times ? meeting_step_messages_max
                                                         : meeting_step_messages_max_by_messages;
  return !options.one_at_a_time && work.ranks <= meeting_step_ranks_max && work.messages > 0 &&
         work.messages <= messages_max && meet_on_pcie(links, patterns, options);
}

struct Choice {
  Fidelity fidelity = Fidelity::fluid;
  std::string why;
  bool asked_for = false;
};

Choice choose(ClusterLinks links, std::span<const Pattern> patterns, const Work& work,
              const EngineOptions& options) {
  if (options.fidelity == Fidelity::step) {
    if (work.messages > options.step_messages_max) {
      const double seconds =
          work.messages / step_messages_per_second * (1 + work.live / step_live_half);
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::fidelity,
          fmt::format("fidelity 'step' would simulate {:.0f} messages for one collective, about "
                      "{:.2g} s each time; at most {:.0f} are allowed; use 'fluid'",
                      work.messages, seconds, options.step_messages_max));
    }
    return {Fidelity::step, "asked for", true};
  }
  if (options.fidelity != Fidelity::automatic) {
    if (options.refuses_inexact && differ(links, patterns, work, options)) {
      throw UnsupportedConfiguration(
          UnsupportedConfiguration::Key::fidelity,
          "flows as fluids are up to 4.5 % off single messages where rings within machines meet "
          "copies or messages on PCIe, as here; use 'step', or 'auto', which takes it");
    }
    return {options.fidelity, "asked for", true};
  }
  if (work.messages == 0) return {Fidelity::step, "no message is sent", false};
  if (differ(links, patterns, work, options)) {
    return {Fidelity::step, "rings within machines meet copies or messages on PCIe", false};
  }
  if (work.ranks > automatic_step_ranks_max) {
    return {Fidelity::fluid,
            fmt::format("{} ranks, more than {}", work.ranks, automatic_step_ranks_max), false};
  }
  if (work.messages > automatic_step_messages_max) {
    return {Fidelity::fluid,
            fmt::format("{:.0f} messages in one collective, more than {:.0f}", work.messages,
                        automatic_step_messages_max),
            false};
  }
  return {Fidelity::step,
          fmt::format("{} ranks and {:.0f} messages in one collective, few enough", work.ranks,
                      work.messages),
          false};
}

/// Flows and links as they are for `step`, else those that behave alike merged.
EnginePlan reduce(ClusterLinks links, std::span<const Pattern> patterns, const Choice& choice,
                  const EngineOptions& options, const PatternRead& read) {
  FlowGraph graph = make_flow_graph(links, patterns, options.one_at_a_time, read);
  const bool step = choice.fidelity == Fidelity::step;
  Partition partition = step ? no_merging(graph) : refine(graph);
  // What takes most memory goes as soon as nobody needs it.
  FlowProblem problem = make_problem(graph, partition);
  partition.link_class = std::vector<std::uint32_t>();
  LinkShares shares(graph);
  graph.forget_paths();
  Reduced reduced{.quotient = make_quotient(graph, partition, std::move(problem)),
                  .fidelity = choice.fidelity};
  reduced.stats.flows = graph.flow_count();
  reduced.stats.link_classes = partition.link_classes;
  reduced.stats.flow_classes = partition.flow_classes;
  reduced.stats.why = choice.why;
  partition = {};
  graph = {};
  const std::size_t classes_max =
      options.one_at_a_time ? fluid_classes_max_alone : fluid_classes_max;
  if (choice.asked_for) {
    if (choice.fidelity == Fidelity::coupled) reduced.quotient.couple();
  } else if (choice.fidelity == Fidelity::fluid && reduced.stats.flow_classes > classes_max) {
    reduced.stats.why =
        fmt::format("{} classes of flows, more than {}", reduced.stats.flow_classes, classes_max);
    if (reduced.quotient.couple()) reduced.fidelity = Fidelity::coupled;
  }
  return {std::move(reduced), std::move(shares)};
}

/// Large patterns that move one at a time.
bool moves_as_groups(const Work& work, const Choice& choice, const EngineOptions& options) {
  return options.one_at_a_time && !choice.asked_for && choice.fidelity == Fidelity::fluid &&
         work.live > options.refined_flows_max;
}

/// Rings and trees, each as one body; nothing for others.
std::optional<Reduced> reduce_groups(GroupReading reading, std::span<const Pattern> patterns,
                                     const Work& work, const EngineOptions& options) {
  std::optional<GroupQuotient> groups = std::move(reading).quotient();
  if (!groups) return std::nullopt;
  Reduced reduced{.quotient = std::move(groups->quotient), .fidelity = Fidelity::coupled};
  for (const Pattern& pattern : patterns) {
    for (const Phase& phase : pattern.phases) reduced.stats.flows += phase.flow_count();
  }
  reduced.stats.link_classes = groups->link_classes;
  reduced.stats.flow_classes = groups->flow_classes;
  reduced.stats.why =
      fmt::format("{:.0f} flows at a time, more than {:.0f}", work.live, options.refined_flows_max);
  return reduced;
}

}  // namespace

EnginePlan plan_engine(ClusterLinks links, std::span<const Pattern> patterns,
                       const EngineOptions& options, const PatternRead& read) {
  const auto count = static_cast<PatternId>(patterns.size());
  const auto all_read = [&] {
    for (PatternId id = 0; read && id < count; ++id) read(id);
  };
  const Work work = work_of(patterns);
  const Choice choice = choose(links, patterns, work, options);
  if (moves_as_groups(work, choice, options)) {
    GroupReading reading(links, patterns);
    std::optional<LinkShares> shares;
    const std::size_t phases = reading.phases();
    in_parts(phases + 1, 2, [&](std::size_t begin, std::size_t end) {  // none needs another
      for (std::size_t part = begin; part < std::min(end, phases); ++part) reading.read(part);
      if (end > phases) shares.emplace(patterns);
    });
    if (auto groups = reduce_groups(std::move(reading), patterns, work, options)) {
      all_read();
      return {std::move(*groups), std::move(*shares)};
    }
  }
  if (std::ranges::any_of(patterns, &Pattern::is_folded)) {
    std::vector<Pattern> whole(patterns.begin(), patterns.end());
    for (Pattern& pattern : whole) {
      if (pattern.is_folded()) pattern = unfolded(pattern);
    }
    all_read();
    return plan_engine(links, whole, options,
                       [&](PatternId id) { whole[static_cast<std::size_t>(id)] = {}; });
  }
  return reduce(links, patterns, choice, options, read);
}

struct EngineMemo::Kept {
  /// All that gradwire::plan_engine looks at.
  struct Key {
    Key(ClusterLinks links, std::span<const Pattern> all, const EngineOptions& options);
    bool operator==(const Key&) const = default;

    std::vector<ClusterLink> types;
    std::vector<std::uint32_t> type_of;   ///< by link
    std::vector<std::uint64_t> patterns;  ///< the key of each
    Fidelity fidelity;
    bool one_at_a_time;
    double step_messages_max;
    double refined_flows_max;
  };
  Key key;
  EnginePlan plan;
};

EngineMemo::Kept::Key::Key(ClusterLinks links, std::span<const Pattern> all,
                           const EngineOptions& options)
    : types(links.types().begin(), links.types().end()),
      fidelity(options.fidelity),
      one_at_a_time(options.one_at_a_time),
      step_messages_max(options.step_messages_max),
      refined_flows_max(options.refined_flows_max) {
  type_of.reserve(links.size());
  for (std::size_t link = 0; link < links.size(); ++link) type_of.push_back(links.type_of(link));
  patterns.reserve(all.size());
  for (const Pattern& pattern : all) {
    assert(pattern.key != 0);
    patterns.push_back(pattern.key);
  }
}

EngineMemo::EngineMemo() = default;
EngineMemo::~EngineMemo() = default;

EnginePlan EngineMemo::plan_engine(ClusterLinks links, std::span<const Pattern> patterns,
                                   const EngineOptions& options, const PatternRead& read) {
  Kept::Key key(links, patterns, options);
  if (kept_ && kept_->key == key) {
    const auto count = static_cast<PatternId>(patterns.size());
    for (PatternId id = 0; read && id < count; ++id) read(id);
  } else {
    kept_.reset();
    EnginePlan plan = gradwire::plan_engine(links, patterns, options, read);
    kept_ = std::make_unique<Kept>(Kept{std::move(key), std::move(plan)});
  }
  return kept_->plan;
}

}  // namespace gradwire
