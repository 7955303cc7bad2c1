#pragma once

#include "sim/engine/quotient.hpp"

namespace gradwire {

/// Marks the GPUs' copies in the problem, where any of them shares a PCIe link with a message of a
/// NIC. Copies are patterns of their own; collectives within machines are among them.
///
/// A switch or a root complex takes packets from its ports in turn (PCI Express Base Specification
/// 4.0, section 6.3.3.2: hardware-fixed arbitration, round robin), so that a GPU's copies get as
/// much of a link as all messages of the NIC together, however many there are of either.
void mark_copies(Quotient& quotient);

}  // namespace gradwire
