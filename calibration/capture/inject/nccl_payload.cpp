#include "calibration/capture/inject/nccl_payload.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gradwire::calibration {
namespace {

struct Layout {
  std::string_view range;
  bool has_ints;
};
constexpr std::array<Layout, 11> layouts{{{"ncclAllGather", false},
                                          {"ncclAlltoAll", false},
                                          {"ncclAllToAll", false},
                                          {"ncclAllReduce", true},
                                          {"ncclBroadcast", true},
                                          {"ncclReduce", true},
                                          {"ncclReduceScatter", true},
                                          {"ncclGather", true},
                                          {"ncclScatter", true},
                                          {"ncclSend", true},
                                          {"ncclRecv", true}}};

}  // namespace

std::int64_t nccl_message_bytes(std::string_view range, const void* payload, std::size_t size) {
  constexpr std::size_t word = 8;
  const auto* const layout =
      std::ranges::find_if(layouts, [&](const Layout& each) { return each.range == range; });
  if (layout == layouts.end() || payload == nullptr) return 0;
  const std::size_t before = word + (layout->has_ints ? word : 0);
  if (size != before && size != before + word) return 0;
  const std::size_t offset = size - before;  // a communicator comes first, or nothing does
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, static_cast<const char*>(payload) + offset, sizeof(bytes));
  return static_cast<std::int64_t>(bytes);
}

}  // namespace gradwire::calibration
