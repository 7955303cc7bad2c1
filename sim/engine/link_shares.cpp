#include "sim/engine/link_shares.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/core/index.hpp"

namespace gradwire {

namespace {

/// Of more links than this part of all, all are looked at.
constexpr std::size_t scanned_part = 32;

/// Adds what the flows that stand there move, and tells of each link that it is met.
template <class Met>
void add_flows(const Pattern& pattern, std::vector<double>& sums, Met met) {
  // Links are met in no order, and wait for memory unless asked for so many before.
  constexpr std::size_t ahead = 32;
  for (const Phase& phase : pattern.phases) {
    for (const PatternFlow& flow : phase.flows) {
      for (std::size_t i = flow.path_begin; i < flow.path_begin + flow.path_size; ++i) {
        const std::size_t next = std::min(i + ahead, pattern.path_links.size() - 1);
        __builtin_prefetch(&sums[at(pattern.path_links[next])]);
        const LinkId link = pattern.path_links[i];
        if (sums[at(link)] == 0) met(link);
        sums[at(link)] += flow.share;
      }
    }
  }
}

/// Calls visit(link) for each link of a flow that stands for others, perhaps several times.
template <class Visit>
void visit_repeated(const Pattern& pattern, Visit visit) {
  for (const Phase& phase : pattern.phases) {
    for (const FlowRun& run : phase.runs) {
      if (run.machine != 1) continue;  // there is one like it for each other machine
      for (std::uint32_t f = run.begin; f < run.begin + run.size; ++f) {
        const PatternFlow& flow = phase.flows[f];
        for (std::uint32_t i = 0; i < flow.path_size; ++i) {
          visit(pattern.path_links[flow.path_begin + i]);
        }
      }
    }
  }
}

LinkId ids_of(std::span<const Pattern> patterns) {
  LinkId ids = 0;
  for (const Pattern& pattern : patterns) {
    if (pattern.path_links.empty()) continue;
    ids = std::max(ids, *std::ranges::max_element(pattern.path_links) + 1);
    if (pattern.is_folded()) {
      ids = std::max(ids, pattern.fold.first_link + pattern.fold.machines * pattern.fold.links);
    }
  }
  return ids;
}

}  // namespace

LinkShares::LinkShares(std::span<const Pattern> patterns) : ids_(at(ids_of(patterns))) {
  std::vector<double> sums(ids_, 0);
  std::vector<bool> met(ids_, false);
  std::vector<bool> repeated(ids_, false);
  std::vector<LinkId> links;
  std::unordered_map<double, std::uint32_t> known;  // looked up, never walked
  for (const Pattern& pattern : patterns) {
    parts_.push_back({.begin = shares_.size(),
                      .stride = pattern.fold.links,
                      .machines = at(std::max(1, pattern.fold.machines))});
    links.clear();
    add_flows(pattern, sums, [&](LinkId link) { links.push_back(link); });
    if (links.size() > ids_ / scanned_part) {  // as well all of them, in order
      links.clear();
      for (std::size_t link = 0; link < ids_; ++link) {
        if (sums[link] > 0) links.push_back(static_cast<LinkId>(link));
      }
    }
    visit_repeated(pattern, [&](LinkId link) { repeated[at(link)] = true; });
    const auto others = std::ranges::stable_partition(
        links, [&](LinkId link) { return static_cast<bool>(repeated[at(link)]); });
    Part& part = parts_.back();
    part.alone = part.begin + static_cast<std::size_t>(others.begin() - links.begin());
    // No more than there are: these are millions. But not for each of many that have few.
    if (4 * links.size() > shares_.size()) shares_.reserve(shares_.size() + links.size());
    for (const LinkId link : links) {
      const double sum = std::exchange(sums[at(link)], 0);
      std::uint32_t value = shares_.empty() ? 0 : shares_.back().value;
      if (values_.empty() || values_[value] != sum) {
        value = static_cast<std::uint32_t>(values_.size());
        const auto [found, is_new] = known.try_emplace(sum, value);
        if (is_new) values_.push_back(sum);
        value = found->second;
      }
      const std::size_t machines = links_of(shares_.size(), part);
      shares_.push_back({link, value});
      repeated[at(link)] = false;
      for (std::size_t m = 0; m < machines; ++m) {
        const std::size_t each = at(link) + m * at(part.stride);
        if (!met[each]) ++used_;
        met[each] = true;
      }
    }
  }
  parts_.push_back({.begin = shares_.size()});
}

void LinkShares::add_to(std::vector<double>& sums, std::size_t pattern, double times) const {
  const Part& part = parts_[pattern];
  for (std::size_t i = part.begin; i < parts_[pattern + 1].begin; ++i) {
    const double moved = times * values_[shares_[i].value];
    for (std::size_t m = 0; m < links_of(i, part); ++m) {
      sums[at(shares_[i].link) + m * at(part.stride)] += moved;
    }
  }
}

}  // namespace gradwire
