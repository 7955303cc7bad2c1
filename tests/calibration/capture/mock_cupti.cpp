#include "tests/calibration/capture/mock_cupti.hpp"

#include <cassert>
#include <cstdlib>
#include <cstring>

namespace gradwire::calibration {
namespace {

MockCupti* mock = nullptr;
thread_local std::vector<std::uint64_t> external_ids;

/// Kernels are CUpti_ActivityKernel10 since CUDA 13, CUpti_ActivityKernel9 in all of CUDA 12.
bool has_13_records(std::uint32_t version) {
  return version >= 130000;
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return has_13_records(mock->version) ? sizeof(KernelActivity) : sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CopyActivity);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CallActivity);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(LinkActivity);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(DeviceActivity);
    default:
      return 0;
  }
}

}  // namespace

struct MockCuptiCalls {
  static CUptiResult version(std::uint32_t* version) {
    *version = mock->version;
    return CUPTI_SUCCESS;
  }
  static CUptiResult result_string(CUptiResult result, const char** text) {
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                          : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
  }
  static CUptiResult timestamp(std::uint64_t* time) {
    *time = mock->timestamp_ != nullptr ? mock->timestamp_() : 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult subscribe(CUpti_SubscriberHandle* /*handle*/, CUpti_CallbackFunc /*function*/,
                               void* /*data*/) {
    return mock->subscribe_result;
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle /*handle*/) { return CUPTI_SUCCESS; }
  static CUptiResult callback_name(CUpti_CallbackDomain domain, std::uint32_t callback,
                                   const char** name) {
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && callback == mock_launch_call) {
      *name = "cudaLaunchKernel_v7000";
    } else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && callback == mock_other_call) {
      *name = "cudaGetDevice_v3020";
    } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
               callback == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
      *name = "cuLaunchKernel";
    } else {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return CUPTI_SUCCESS;
  }
  static CUptiResult register_timestamp(CUpti_TimestampCallbackFunc function) {
    mock->order.emplace_back("timestamp");
    mock->timestamp_ = function;
    return CUPTI_SUCCESS;
  }
  static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
    mock->order.emplace_back("callbacks");
    mock->request_ = request;
    mock->complete_ = complete;
    return mock->register_result;
  }
  static CUptiResult enable(CUpti_ActivityKind kind) {
    mock->order.emplace_back("enable");
    const auto result = mock->enable_results.find(kind);
    if (result != mock->enable_results.end()) return result->second;
    mock->enabled.insert(kind);
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) add_device();
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_and_dump(CUpti_ActivityKind kind) {
    mock->order.emplace_back("dump");
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) add_device();
    return CUPTI_SUCCESS;
  }
  static void add_device() {
    DeviceActivity device{};
    device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    device.name = "NVIDIA Mock";
    device.numMultiprocessors = 132;
    device.isMigEnabled = mock->mig ? 1 : 0;
    device.computeCapabilityMajor = 9;
    device.globalMemorySize = std::uint64_t{80} << 30U;
    mock->add(device);
  }
  static CUptiResult disable(CUpti_ActivityKind kind) {
    mock->enabled.erase(kind);
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_runtime(CUpti_CallbackId call, std::uint8_t on) {
    // As CUPTI 13.0 on an H100: what is chosen without the kind gives no records.
    if (on == 0) mock->runtime_calls_off.insert(call);
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_driver(CUpti_CallbackId /*call*/, std::uint8_t /*on*/) {
    return CUPTI_SUCCESS;
  }
  static CUptiResult flush_all(std::uint32_t /*flag*/) {
    mock->flush();
    return CUPTI_SUCCESS;
  }
  static CUptiResult next_record(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
    const std::size_t offset =
        *record == nullptr
            ? 0
            : static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer) +
                  size_of((*record)->kind);
    if (offset >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(buffer + offset);
    return size_of((*record)->kind) > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
  }
  static CUptiResult dropped(CUcontext /*context*/, std::uint32_t /*stream*/, std::size_t* count) {
    *count = mock->dropped;
    mock->dropped = 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult push(CUpti_ExternalCorrelationKind /*kind*/, std::uint64_t id) {
    external_ids.push_back(id);
    return CUPTI_SUCCESS;
  }
  static CUptiResult pop(CUpti_ExternalCorrelationKind /*kind*/, std::uint64_t* last) {
    if (external_ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    *last = external_ids.back();
    external_ids.pop_back();
    return CUPTI_SUCCESS;
  }
};

MockCupti::MockCupti() {
  assert(mock == nullptr);
  external_ids.clear();
  mock = this;
}

MockCupti::~MockCupti() {
  for (const Buffer& buffer : buffers_) std::free(buffer.bytes);  // nobody asked for them
  mock = nullptr;
}

CuptiApi MockCupti::api() const {
  CuptiApi api;
  api.get_version = MockCuptiCalls::version;
  api.get_result_string = MockCuptiCalls::result_string;
  api.get_timestamp = MockCuptiCalls::timestamp;
  api.subscribe = MockCuptiCalls::subscribe;
  api.unsubscribe = MockCuptiCalls::unsubscribe;
  api.get_callback_name = MockCuptiCalls::callback_name;
  api.register_timestamp_callback = MockCuptiCalls::register_timestamp;
  api.register_callbacks = MockCuptiCalls::register_callbacks;
  api.enable = MockCuptiCalls::enable;
  api.enable_and_dump = MockCuptiCalls::enable_and_dump;
  api.disable = MockCuptiCalls::disable;
  api.enable_runtime_api = MockCuptiCalls::enable_runtime;
  api.enable_driver_api = MockCuptiCalls::enable_driver;
  api.flush_all = MockCuptiCalls::flush_all;
  api.get_next_record = MockCuptiCalls::next_record;
  api.get_num_dropped_records = MockCuptiCalls::dropped;
  api.push_external_id = MockCuptiCalls::push;
  api.pop_external_id = MockCuptiCalls::pop;
  return api;
}

template <class Record>
void MockCupti::add(const Record& record) {
  if (hijacked) return;
  if (buffers_.empty() || buffers_.back().used + sizeof(record) > buffers_.back().size) {
    Buffer buffer;
    std::size_t records_max = 0;
    request_(&buffer.bytes, &buffer.size, &records_max);
    if (buffer.bytes == nullptr) {
      ++refused_buffers;
      ++dropped;
      return;
    }
    buffers_.push_back(buffer);
  }
  Buffer& buffer = buffers_.back();
  std::memcpy(buffer.bytes + buffer.used, &record, sizeof(record));
  buffer.used += sizeof(record);
}

void MockCupti::launch(const std::string& name, std::uint64_t start, std::uint64_t end,
                       std::uint32_t correlation) {
  const std::lock_guard lock(mutex_);
  if (enabled.contains(CUPTI_ACTIVITY_KIND_RUNTIME) &&
      !runtime_calls_off.contains(mock_launch_call)) {
    if (enabled.contains(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) && !external_ids.empty()) {
      LinkActivity link{};
      link.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      link.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
      link.externalId = external_ids.back();
      link.correlationId = correlation;
      add(link);
    }
    CallActivity call{};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = mock_launch_call;
    call.start = start - 10;
    call.end = start - 5;
    call.correlationId = correlation;
    add(call);
  }
  if (!enabled.contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  if (has_13_records(version)) {
    add_kernel<KernelActivity>(name, start, end, correlation);
  } else {
    add_kernel<CUpti_ActivityKernel9>(name, start, end, correlation);
  }
}

template <class Kernel>
void MockCupti::add_kernel(const std::string& name, std::uint64_t start, std::uint64_t end,
                           std::uint32_t correlation) {
  Kernel kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = start;
  kernel.end = end;
  kernel.name = names_.insert(name).first->c_str();
  kernel.correlationId = correlation;
  kernel.streamId = 7;
  kernel.gridX = 4;
  kernel.gridY = 3;
  kernel.gridZ = 2;
  kernel.graphId = in_graphs ? 5 : 0;
  add(kernel);
}

void MockCupti::copy(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end,
                     std::uint32_t correlation) {
  const std::lock_guard lock(mutex_);
  CopyActivity copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = kind;
  copy.bytes = bytes;
  copy.start = start;
  copy.end = end;
  copy.correlationId = correlation;
  add(copy);
}

void MockCupti::next_buffer() {
  const std::lock_guard lock(mutex_);
  Buffer buffer;
  std::size_t records_max = 0;
  request_(&buffer.bytes, &buffer.size, &records_max);
  if (buffer.bytes != nullptr) {
    buffers_.push_back(buffer);
  } else {
    ++refused_buffers;
  }
}

void MockCupti::complete(const Buffer& buffer) {
  complete_(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
}

void MockCupti::flush() {
  std::vector<Buffer> buffers;
  {
    const std::lock_guard lock(mutex_);
    if (hijacked) return;
    buffers.swap(buffers_);
  }
  if (reversed) {
    for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) complete(*buffer);
  } else {
    for (const Buffer& buffer : buffers) complete(buffer);
  }
}

}  // namespace gradwire::calibration
