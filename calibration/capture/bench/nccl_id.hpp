#pragma once

#include <array>

namespace gradwire::calibration {

/// What a communicator's ranks must all know (ncclUniqueId).
struct NcclId {
  std::array<char, 128> bytes{};  // NCCL_UNIQUE_ID_BYTES
};

}  // namespace gradwire::calibration
