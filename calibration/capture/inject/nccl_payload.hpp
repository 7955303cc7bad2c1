#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gradwire::calibration {

/// Bytes of the message that an NVTX range of NCCL's tells in its payload; 0 where it tells none.
///
/// Since NCCL 2.26 (src/include/nvtx_payload_schemas.h) the payload of a call is
/// {uint64 communicator, size_t bytes, ints...}: 16 bytes for all-gather and all-to-all, which have
/// no ints, 24 for the others. Before (2.18 to 2.25, src/collectives.cc) it was {size_t bytes,
/// ints...}: 8 and 16 bytes. Bytes are those of one rank's message, as NCCL counts it.
/// @param range  NCCL's name of the call: "ncclAllReduce"
[[nodiscard]] std::int64_t nccl_message_bytes(std::string_view range, const void* payload,
                                              std::size_t size);

}  // namespace gradwire::calibration
