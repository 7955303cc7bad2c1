#include "calibration/attribution/collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "calibration/attribution/trace_index.hpp"
#include "calibration/trace/nccl_names.hpp"

namespace gradwire::calibration {
namespace {

std::string small(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return lower;
}

std::optional<CollectiveKind> kind_of(std::string_view operation) {
  if (const auto kind = nccl_operation(operation)) return kind;
  // Payloads of PyTorch's record_param_comms (torch/csrc/distributed/c10d): "allreduce",
  // "_allgather_base", "reduce_scatter_tensor_coalesced".
  std::string name = small(operation);
  std::erase(name, '_');
  using Name = std::pair<std::string_view, CollectiveKind>;
  constexpr std::array<Name, 8> names = {{{"allreduce", CollectiveKind::all_reduce},
                                          {"reducescatter", CollectiveKind::reduce_scatter},
                                          {"allgather", CollectiveKind::all_gather},
                                          {"broadcast", CollectiveKind::broadcast},
                                          {"alltoall", CollectiveKind::all_to_all},
                                          {"reduce", CollectiveKind::reduce},
                                          {"gather", CollectiveKind::gather},
                                          {"scatter", CollectiveKind::scatter}}};
  const auto* const known =
      std::ranges::find_if(names, [&](const Name& entry) { return name.starts_with(entry.first); });
  return known == names.end() ? std::nullopt : std::optional(known->second);
}

/// The range of a communication library's NVTX domain around a launch that carries a message size.
const RangeRecord* payload_around(const TraceIndex& index, const Launch& launch) {
  for (RangeId id = launch.range; id != no_range; id = index.parent(id)) {
    if (index.range(id).bytes > 0) return &index.range(id);
  }
  return nullptr;
}

}  // namespace

KernelName split_kernel_name(std::string_view name) {
  KernelName split;
  name = name.substr(0, name.find('('));
  // Since 2.27, where buffers are registered as symmetric: "ncclSymDevKernel_AllReduce_RSxLD_AGxST_
  // sum_bf16", since 2.28 "ncclSymkDevKernel_...". What follows the operation is how it loads and
  // stores ("AGxLL_R", "ST"), neither an algorithm nor a protocol of NCCL's rings and trees.
  if (name.starts_with("ncclSym")) {
    name.remove_prefix(std::min(name.find('_'), name.size() - 1) + 1);
    split.operation = name.substr(0, name.find('_'));
    split.algorithm = symmetric_memory;
    return split;
  }
  bool first = true;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string part(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    if (std::exchange(first, false)) continue;  // ncclKernel, ncclDevKernel
    if (split.operation.empty()) {
      split.operation = part;
    } else if (split.algorithm.empty() && !nccl_algorithm(part).empty()) {
      split.algorithm = nccl_algorithm(part);
    } else if (split.protocol.empty() && !nccl_protocol(part).empty()) {
      split.protocol = nccl_protocol(part);
    }
  }
  return split;
}

int element_bytes(std::string_view dtype) {
  using Size = std::pair<std::string_view, int>;
  constexpr std::array<Size, 26> sizes = {
      {{"double", 8},   {"float64", 8}, {"f64", 8},       {"long", 8},          {"int64", 8},
       {"float", 4},    {"float32", 4}, {"f32", 4},       {"int", 4},           {"int32", 4},
       {"u32", 4},      {"uint32", 4},  {"half", 2},      {"float16", 2},       {"f16", 2},
       {"bfloat16", 2}, {"bf16", 2},    {"c10::half", 2}, {"c10::bfloat16", 2}, {"short", 2},
       {"byte", 1},     {"char", 1},    {"uint8", 1},     {"int8", 1},          {"bool", 1},
       {"u8", 1}}};
  const std::string name = small(dtype);
  const auto* const known = std::ranges::find(sizes, std::string_view(name), &Size::first);
  return known == sizes.end() ? 0 : known->second;
}

std::vector<TracedCollective> collectives_of(const Trace& trace) {
  const TraceIndex index(trace);
  std::unordered_map<std::uint32_t, const CollectiveRecord*> payloads;
  for (const CollectiveRecord& record : trace.collectives) payloads[record.correlation] = &record;
  std::vector<TracedCollective> found;
  for (const std::uint32_t id : index.device_order()) {
    const DeviceRecord& record = trace.device[id];
    if (!index.meaning(record).communication) continue;
    const KernelName name = split_kernel_name(trace.names[record.name]);
    TracedCollective collective;
    collective.operation = name.operation;
    collective.algorithm = name.algorithm;
    collective.protocol = name.protocol;
    collective.channels = static_cast<int>(std::min<std::uint32_t>(record.blocks, 1024));
    collective.start = record.start;
    collective.end = record.end;
    if (const auto payload = payloads.find(record.correlation); payload != payloads.end()) {
      const CollectiveRecord& told = *payload->second;
      // One kernel name serves several operations: "ncclKernel_SendRecv" is an all-to-all too.
      if (told.operation != no_name) collective.operation = trace.names[told.operation];
      if (told.dtype != no_name) collective.dtype = trace.names[told.dtype];
      collective.elements = told.elements;
      collective.ranks = told.ranks;
      const std::int64_t size = element_bytes(collective.dtype);
      constexpr std::int64_t elements_max = std::int64_t{1} << 50U;
      if (told.elements <= elements_max) collective.bytes = Bytes{told.elements * size};
    } else if (const RangeRecord* range = payload_around(index, index.launch(id))) {
      collective.bytes = Bytes{range->bytes};
    }
    collective.kind = kind_of(collective.operation);
    found.push_back(std::move(collective));
  }
  return found;
}

}  // namespace gradwire::calibration
