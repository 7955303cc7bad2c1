#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/fabric.hpp"

namespace gradwire {

/// Switches of a fabric that are alike, to be shown once.
struct SwitchGroup {
  struct Ports {
    std::size_t spec = 0;  ///< index into Fabric::port_specs()
    int count = 0;
  };
  struct Trunks {
    std::size_t to = 0;        ///< group at the far end
    int count = 0;             ///< cables of one switch
    BytesPerSecond bandwidth;  ///< of one cable, one direction
    Seconds latency;
  };
  std::string first;  ///< names of the first and the last switch
  std::string last;
  int switches = 0;
  int tier = 0;  ///< trunks between it and the nearest switch with ports
  std::vector<Ports> ports;
  std::vector<Trunks> trunks;
};

struct FoldedFabric {
  std::vector<SwitchGroup> groups;
  std::vector<std::size_t> group_of;  ///< by switch
};

/// Groups the switches that have equal ports and equal trunks to equal groups; a fabric of at most
/// `unfolded_max` switches is left as it is, one switch a group.
[[nodiscard]] FoldedFabric fold(const Fabric& fabric, std::size_t unfolded_max);

/// "leaf0", or "leaf0 ... leaf15 x 16".
[[nodiscard]] std::string title(const SwitchGroup& group);

/// All switches, those included that one stands for.
[[nodiscard]] int switch_count(const Fabric& fabric);

}  // namespace gradwire
