#pragma once

#include <cstdint>
#include <vector>

#include "strategies/strategy.hpp"

namespace gradwire {

/// Which layers make a unit, FSDP's auto_wrap_policy.
enum class WrapPolicy : std::uint8_t {
  /// One a block: the tensors whose names agree up to their first part that is a number ("h.11",
  /// "layer3.0"), or that ends in one where no part of any name is one ("l11"). Beside such of
  /// several layers a number of a single one is a place in a list, no block ("t_embedder.mlp.0").
  block,
  /// Layers in forward order up to a size.
  size_based,
  none,  ///< all in the root
};

/// Parameters that are gathered and whose gradients are reduced together: an FSDP instance.
struct FsdpUnit {
  std::vector<TensorId> tensors;
  std::int64_t elements = 0;
  int first_layer = 0;
  int last_layer = 0;
  bool root = false;
};

/// The units of a model in forward order; the root, where it has parameters of its own, is first.
/// What no other unit takes is the root's: it is gathered before the first layer and kept until its
/// last gradient is there.
/// @param least  of WrapPolicy::size_based: layers are taken into a unit until it has as much; a
///               rest that has less is the root's.
[[nodiscard]] std::vector<FsdpUnit> make_fsdp_units(const JobView& job, WrapPolicy policy,
                                                    Bytes least);

}  // namespace gradwire
