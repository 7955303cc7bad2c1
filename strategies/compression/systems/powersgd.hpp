#pragma once

#include "strategies/knobs.hpp"

namespace gradwire {

/// PowerSGD as its systems run it: a DDP communication hook, with DDP's knobs beside the hook's; or
/// epfml's package, after backward over all gradients at once.
///
/// Source: see PowerSgd. acpsgd's scripts take the hook with start_powerSGD_iter 3.
[[nodiscard]] StrategyMaker read_powersgd(Knobs& knobs);

}  // namespace gradwire
