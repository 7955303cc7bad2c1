#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/index.hpp"

namespace gradwire {

/// Numbers a cluster's links in their order for what is kept of each that a pattern passes. On all
/// machines but a folded pattern's first one, only those have a number that a flow may pass there
/// (MachineFold::passed); of another pattern a link's number is its id.
class LinkSlots {
 public:
  LinkSlots() = default;
  /// @param links  how many the cluster has.
  LinkSlots(const Pattern& pattern, std::size_t links)
      : links_(links), size_(links), begin_(links), end_(links) {
    if (!pattern.is_folded()) return;
    const MachineFold& fold = pattern.fold;
    stride_ = at(fold.links);
    begin_ = at(fold.first_link) + stride_;
    end_ = begin_ + (at(fold.machines) - 1) * stride_;
    passed_ = fold.passed;
    place_.resize(stride_);
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      place_[at(passed_[i])] = static_cast<std::uint32_t>(i);
    }
    size_ -= (at(fold.machines) - 1) * (stride_ - passed_.size());
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// REQUIRES: the link has a number.
  [[nodiscard]] std::size_t operator[](LinkId link) const {
    const std::size_t id = at(link);
    if (id < begin_) return id;
    if (id >= end_) return id - (links_ - size_);
    const auto further = static_cast<std::uint32_t>(id - begin_);
    const auto stride = static_cast<std::uint32_t>(stride_);
    return begin_ + further / stride * passed_.size() + place_[further % stride];
  }
  /// Calls visit(link, its number) for each that has one, in order.
  template <class Visit>
  void visit(Visit visit) const {
    std::size_t slot = 0;
    for (; slot < begin_; ++slot) visit(slot, slot);
    for (std::size_t machine = begin_; machine < end_; machine += stride_) {
      for (const LinkId own : passed_) visit(machine + at(own), slot++);
    }
    for (std::size_t link = end_; link < links_; ++link) visit(link, slot++);
  }

 private:
  std::size_t links_ = 0;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;  ///< the second machine's first link
  std::size_t end_ = 0;    ///< behind those of the last machine
  std::size_t stride_ = 1;
  std::vector<LinkId> passed_;
  std::vector<std::uint32_t> place_;  ///< [link of a machine]: index into passed_
};

}  // namespace gradwire
