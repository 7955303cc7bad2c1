#include "sim/engine/link_shares.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/core/index.hpp"

namespace gradwire {

LinkShares::LinkShares(std::span<const Pattern> patterns) {
  LinkId last = -1;
  for (const Pattern& pattern : patterns) {
    if (pattern.path_links.empty()) continue;
    last = std::max(last, *std::ranges::max_element(pattern.path_links));
  }
  ids_ = at(last + 1);
  std::vector<double> sums(ids_, 0);
  std::vector<bool> met(ids_, false);
  std::vector<LinkId> links;
  std::unordered_map<double, std::uint32_t> known;  // looked up, never walked
  for (const Pattern& pattern : patterns) {
    links.clear();
    for (const Phase& phase : pattern.phases) {
      for (const PatternFlow& flow : phase.flows) {
        for (std::uint32_t i = 0; i < flow.path_size; ++i) {
          const LinkId link = pattern.path_links[flow.path_begin + i];
          double& sum = sums[at(link)];
          if (sum == 0) links.push_back(link);
          sum += flow.share;
        }
      }
    }
    for (const LinkId link : links) {
      const auto next = static_cast<std::uint32_t>(values_.size());
      const auto [found, is_new] = known.try_emplace(sums[at(link)], next);
      if (is_new) values_.push_back(sums[at(link)]);
      shares_.push_back({link, found->second});
      if (!met[at(link)]) ++used_;
      met[at(link)] = true;
      sums[at(link)] = 0;
    }
    begin_.push_back(shares_.size());
  }
}

void LinkShares::add_to(std::vector<double>& sums, std::size_t pattern, double times) const {
  for (std::size_t i = begin_[pattern]; i < begin_[pattern + 1]; ++i) {
    sums[at(shares_[i].link)] += times * values_[shares_[i].value];
  }
}

}  // namespace gradwire
