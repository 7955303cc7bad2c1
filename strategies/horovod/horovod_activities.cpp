#include "strategies/horovod/horovod_activities.hpp"

#include <map>

namespace gradwire {
namespace {

std::string collective_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "ALLREDUCE";
    case CollectiveKind::all_gather:
      return "ALLGATHER";
    case CollectiveKind::reduce_scatter:
      return "REDUCESCATTER";
    case CollectiveKind::reduce:
      return "REDUCE";
    case CollectiveKind::broadcast:
      return "BCAST";
    default:
      return "";
  }
}

/// By the labels of HorovodReductions and HorovodGathers.
std::string labelled(const std::string& label) {
  static const std::map<std::string, std::string> names = {
      {"copy into fusion buffer", "MEMCPY_IN_FUSION_BUFFER"},
      {"copy out of fusion buffer", "MEMCPY_OUT_FUSION_BUFFER"},
      {"copy to the host", "MEMCPY_IN_HOST_BUFFER"},
      {"copy to the GPU", "MEMCPY_OUT_HOST_BUFFER"},
      {"MPI all-reduce", "MPI_ALLREDUCE"},
      {"sum on the host", "MPI_ALLREDUCE"},
      {"MPI all-gather", "MPI_ALLGATHER"},
      {"copy between ranks", "MPI_ALLGATHER"},
      {"copy into the shared buffer", "MEMCPY_IN_SHARED_BUFFER"},
      {"MPI all-gather across", "MPI_CROSS_ALLGATHER"},
      {"copy out of the shared buffer", "MEMCPY_OUT_FUSION_BUFFER"}};
  const auto found = names.find(label);
  return found == names.end() ? "" : found->second;
}

}  // namespace

std::string negotiation_of(RequestKind kind) {
  return kind == RequestKind::reduce ? "NEGOTIATE_ALLREDUCE" : "NEGOTIATE_ALLGATHER";
}

std::string activity_of(const Operation& stage, bool on_gpu) {
  if (const auto* collective = std::get_if<Collective>(&stage)) {
    return (on_gpu ? "NCCL_" : "MPI_") + collective_of(collective->kind);
  }
  if (const auto* copy = std::get_if<DeviceWork>(&stage)) return labelled(copy->label);
  if (const auto* message = std::get_if<Messages>(&stage)) return labelled(message->label);
  if (const auto* host = std::get_if<HostWork>(&stage)) return labelled(host->label);
  return "";
}

}  // namespace gradwire
