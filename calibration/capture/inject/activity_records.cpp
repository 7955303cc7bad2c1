#include "calibration/capture/inject/activity_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "calibration/capture/inject/cupti_records.hpp"
#include "calibration/capture/inject/record_bytes.hpp"
#include "calibration/capture/inject/record_format.hpp"

namespace gradwire::calibration {
namespace {

using gwr::RecordKind;

constexpr std::int64_t bytes_per_kilobyte = 1000;  // CUPTI's bandwidths are in kilobytes a second

template <class Record>
const Record& as(const CUpti_Activity& activity) {
  return reinterpret_cast<const Record&>(activity);
}

/// CUPTI had no memory on the device to keep the times in.
template <class Record>
bool has_no_time(const Record& record) {
  return record.start == 0 && record.end == 0;
}

std::array<std::uint8_t, 16> bytes_of(const CUuuid& uuid) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), uuid.bytes, bytes.size());
  return bytes;
}

template <class Activity>
gwr::Transfer transfer_of(const Activity& activity) {
  gwr::Transfer record;
  record.start = static_cast<std::int64_t>(activity.start);
  record.end = static_cast<std::int64_t>(activity.end);
  record.bytes = static_cast<std::int64_t>(activity.bytes);
  record.correlation = activity.correlationId;
  record.device = activity.deviceId;
  record.stream = activity.streamId;
  return record;
}

void add_device(const DeviceActivity& activity, std::vector<std::byte>& records) {
  gwr::Device record;
  record.memory_bytes = static_cast<std::int64_t>(activity.globalMemorySize);
  record.memory_bytes_per_second =
      static_cast<std::int64_t>(activity.globalMemoryBandwidth) * bytes_per_kilobyte;
  record.id = activity.id;
  record.compute_major = activity.computeCapabilityMajor;
  record.compute_minor = activity.computeCapabilityMinor;
  record.multiprocessors = activity.numMultiprocessors;
  record.clock_khz = activity.coreClockRate;
  record.mig = activity.isMigEnabled;
  record.uuid = bytes_of(activity.uuid);
  append_record(records, RecordKind::device, record, activity.name != nullptr ? activity.name : "");
}

void add_nvlink(const NvlinkActivity& activity, std::vector<std::byte>& records) {
  gwr::Nvlink record;
  if (activity.typeDev0 == CUPTI_DEV_TYPE_GPU) record.first = bytes_of(activity.idDev0.uuidDev);
  if (activity.typeDev1 == CUPTI_DEV_TYPE_GPU) record.second = bytes_of(activity.idDev1.uuidDev);
  record.bytes_per_second = static_cast<std::int64_t>(activity.bandwidth) * bytes_per_kilobyte;
  record.version = activity.nvlinkVersion;
  record.links = activity.physicalNvLinkCount;
  record.nvswitch = activity.nvswitchConnected;
  append_record(records, RecordKind::nvlink, record);
}

void add_pcie(const PcieActivity& activity, std::vector<std::byte>& records) {
  gwr::Pcie record;
  record.bridge = activity.type == CUPTI_PCIE_DEVICE_TYPE_BRIDGE ? 1 : 0;
  record.id = record.bridge != 0 ? activity.id.bridgeId : static_cast<unsigned>(activity.id.devId);
  record.domain = activity.domain;
  record.generation = activity.pcieGeneration;
  record.gigatransfers_per_second = activity.linkRate;
  record.width = activity.linkWidth;
  record.upstream_bus = activity.upstreamBus;
  if (record.bridge != 0) {
    record.secondary_bus = activity.attr.bridgeAttr.secondaryBus;
  } else {
    record.uuid = bytes_of(activity.attr.gpuAttr.uuidDev);
  }
  append_record(records, RecordKind::pcie, record);
}

/// @return false where the record carries no time
bool add_transfer(const CUpti_Activity& activity, std::vector<std::byte>& records) {
  if (activity.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = as<CopyActivity>(activity);
    if (has_no_time(copy)) return false;
    gwr::Transfer record = transfer_of(copy);
    record.copy_kind = copy.copyKind;
    record.graph = copy.graphId;
    append_record(records, RecordKind::copy, record);
  } else if (activity.kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
    const auto& copy = as<PeerCopyActivity>(activity);
    if (has_no_time(copy)) return false;
    gwr::Transfer record = transfer_of(copy);
    record.copy_kind = copy.copyKind;
    record.device = copy.srcDeviceId;
    record.destination = copy.dstDeviceId;
    record.graph = copy.graphId;
    append_record(records, RecordKind::peer_copy, record);
  } else {
    const auto& memset = as<MemsetActivity>(activity);
    if (has_no_time(memset)) return false;
    gwr::Transfer record = transfer_of(memset);
    record.graph = memset.graphId;
    append_record(records, RecordKind::memset, record);
  }
  return true;
}

/// Devices and what joins them.
void add_place(const CUpti_Activity& activity, std::vector<std::byte>& records) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
      add_device(as<DeviceActivity>(activity), records);
      break;
    case CUPTI_ACTIVITY_KIND_NVLINK:
      add_nvlink(as<NvlinkActivity>(activity), records);
      break;
    case CUPTI_ACTIVITY_KIND_PCIE:
      add_pcie(as<PcieActivity>(activity), records);
      break;
    default:
      break;
  }
}

}  // namespace

bool ActivityRecords::add_kernel(const CUpti_Activity& activity,
                                 std::vector<std::byte>& records) const {
  const auto& kernel = as<KernelActivity>(activity);
  if (has_no_time(kernel)) return false;
  gwr::Kernel record;
  record.start = static_cast<std::int64_t>(kernel.start);
  record.end = static_cast<std::int64_t>(kernel.end);
  record.name = recorder_.name(kernel.name != nullptr ? kernel.name : "", &records);
  record.correlation = kernel.correlationId;
  record.device = kernel.deviceId;
  record.stream = kernel.streamId;
  record.graph = kernel.graphId;
  record.blocks = static_cast<std::uint32_t>(kernel.gridX) *
                  static_cast<std::uint32_t>(kernel.gridY) *
                  static_cast<std::uint32_t>(kernel.gridZ);
  append_record(records, RecordKind::kernel, record);
  return true;
}

void ActivityRecords::add_call(const CUpti_Activity& activity,
                               std::vector<std::byte>& records) const {
  const auto& call = as<CallActivity>(activity);
  const auto name = call_names_.find(call_key(call.kind == CUPTI_ACTIVITY_KIND_RUNTIME, call.cbid));
  if (name == call_names_.end()) return;
  gwr::Call record;
  record.start = static_cast<std::int64_t>(call.start);
  record.end = static_cast<std::int64_t>(call.end);
  record.name = recorder_.name(name->second, &records);
  record.correlation = call.correlationId;
  record.thread = call.threadId;
  append_record(records, RecordKind::call, record);
}

bool ActivityRecords::convert(const CUpti_Activity& activity,
                              std::vector<std::byte>& records) const {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return add_kernel(activity, records);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_transfer(activity, records);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      add_call(activity, records);
      return true;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& link = as<LinkActivity>(activity);
      gwr::Link record;
      record.range = link.externalId;
      record.correlation = link.correlationId;
      append_record(records, RecordKind::link, record);
      return true;
    }
    default:
      add_place(activity, records);
      return true;
  }
}

bool is_recorded_call(std::string_view name) {
  static constexpr std::array<std::string_view, 13> beginnings{
      "cudaLaunch",      "cudaMemcpy",    "cudaMemset",     "cudaGraphLaunch",
      "cudaEventRecord", "cudaEventSync", "cudaStreamSync", "cudaStreamWaitEvent",
      "cudaDeviceSync",  "cuLaunch",      "cuMemcpy",       "cuMemset",
      "cuGraphLaunch"};
  return std::ranges::any_of(beginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace gradwire::calibration
