#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/quotient.hpp"

namespace gradwire {

/// How a GPU's copies and a NIC's messages share the PCIe links that both use.
///
/// A switch or a root complex takes packets from its ports in turn (PCI Express Base Specification
/// 4.0, section 6.3.3.2: hardware-fixed arbitration, round robin), so that the one copy of a GPU
/// gets as much of a link as all messages of the NIC together. Max-min fair rates are equal by
/// flow: a copy counts as many as there are messages on its link, when it begins.
class PortTurns {
 public:
  PortTurns() = default;  ///< no copy moves in parts
  explicit PortTurns(const Quotient& quotient);

  /// A flow through a column begins.
  /// @return in how many equal parts it is to move, at least 1.
  std::uint32_t begin(std::uint32_t column);
  /// A flow through it has ended.
  void end(std::uint32_t column);

 private:
  struct Column {
    bool is_copy = false;
    std::vector<RowUse> shared;  ///< rows that copies and messages use; of others: none
  };
  std::vector<Column> columns_;          ///< none: no link is shared
  std::vector<std::uint32_t> messages_;  ///< row -> in flight through a link of it
};

}  // namespace gradwire
