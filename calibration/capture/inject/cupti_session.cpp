#include "calibration/capture/inject/cupti_session.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "calibration/capture/inject/clock.hpp"
#include "calibration/capture/inject/cupti_records.hpp"
#include "calibration/capture/inject/inside.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{8} << 20U;  // as CUPTI's documentation advises
constexpr std::size_t buffer_alignment = 8;
constexpr std::size_t buffers_min = 2;
constexpr std::size_t buffers_share = 2;  ///< buffers take at most this part of the memory

/// Those without which nothing can be said of a GPU.
constexpr std::array needed_kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
/// What exists, in full mode.
constexpr std::array place_kinds{CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_NVLINK,
                                 CUPTI_ACTIVITY_KIND_PCIE};

std::uint64_t CUPTIAPI timestamp() {
  return static_cast<std::uint64_t>(monotonic_ns());
}

/// What to do about a refusal, where we know.
const char* advice_for(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "; expected the right to profile: run as root or with CAP_SYS_ADMIN (docker: "
             "--cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "; another profiler is attached: end it first";
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_NOT_SUPPORTED:
      return "; expected a CUPTI that is not newer than the driver";
    default:
      return "";
  }
}

std::uint32_t version_of(const CuptiApi& api) {
  std::uint32_t version = 0;
  return api.get_version(&version) == CUPTI_SUCCESS ? version : 0;
}

/// Calls `visit` with each call that CUPTI knows: whether of the runtime (else of the driver), the
/// callback's id, the name.
template <class Visit>
void for_each_call(const CuptiApi& api, const Visit& visit) {
  // CUDA 13.0 has some 530 and 790; CUPTI refuses the ids beyond its own.
  constexpr std::uint32_t callbacks_max = 2000;
  for (const bool runtime : {true, false}) {
    const auto domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    for (std::uint32_t callback = 1; callback < callbacks_max; ++callback) {
      const char* name = nullptr;
      if (api.get_callback_name(domain, callback, &name) == CUPTI_SUCCESS && name != nullptr) {
        visit(runtime, callback, std::string_view(name));
      }
    }
  }
}

}  // namespace

std::unordered_map<std::uint64_t, std::string> recorded_calls(const CuptiApi& api) {
  std::unordered_map<std::uint64_t, std::string> calls;
  for_each_call(api, [&](bool runtime, std::uint32_t callback, std::string_view name) {
    if (!is_recorded_call(name)) return;
    // "cudaLaunchKernel_v7000": the version tells which signature, not which call.
    calls.emplace(ActivityRecords::call_key(runtime, callback), name.substr(0, name.find("_v")));
  });
  return calls;
}

std::atomic<CuptiSession*> CuptiSession::running = nullptr;

CuptiSession::CuptiSession(const CuptiApi& api, Recorder& recorder)
    : api_(api),
      recorder_(recorder),
      full_(recorder.settings().mode == RecordMode::full),
      version_(version_of(api)),
      records_(recorder,
               full_ ? recorded_calls(api) : std::unordered_map<std::uint64_t, std::string>{}),
      buffers_max_(
          std::max(buffers_min, recorder.settings().memory_bytes / buffers_share / buffer_bytes)) {
  free_.reserve(buffers_max_);  // CUPTI's calls for buffers then throw nothing
}

CuptiSession::~CuptiSession() {
  running = nullptr;
  for (std::uint8_t* buffer : free_) std::free(buffer);
}

bool CuptiSession::other_subscriber() const {
  CUpti_SubscriberHandle handle = nullptr;
  const CUptiResult result = api_.subscribe(
      &handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr);
  if (result == CUPTI_SUCCESS) api_.unsubscribe(handle);
  return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

bool CuptiSession::start(std::string& why) {
  recorder_.add_fact("cupti=" + std::to_string(version_));
  recorder_.add_fact("cupti_headers=" + std::to_string(CUPTI_API_VERSION));
  if (!has_known_layout(version_)) {
    why = "the records of CUPTI " + std::to_string(version_) +
          " are not known; expected that of CUDA 12 (versions 19 to 99) or 13 (130000 to 139999)";
    return false;
  }
  if (other_subscriber()) {
    why = "another profiler has CUPTI (nsys, ncu, cuda-gdb?); end it first";
    return false;
  }
  // The clock first: records of kinds that are enabled before it carry another.
  CUptiResult result = api_.register_timestamp_callback(timestamp);
  if (result == CUPTI_SUCCESS) {
    running = this;
    result = api_.register_callbacks(on_request, on_complete);
  }
  if (result == CUPTI_SUCCESS) {
    if (full_) enable_places(false);
    return true;
  }
  running = nullptr;
  why = "CUPTI refuses: " + text_of(api_, result) + advice_for(result);
  return false;
}

bool CuptiSession::enable_kind(CUpti_ActivityKind kind, bool needed) {
  const CUptiResult result = api_.enable(kind);
  if (result == CUPTI_SUCCESS) return true;
  recorder_.add_fact("refused_kind=" + std::to_string(static_cast<int>(kind)) + " " +
                     text_of(api_, result));
  if (needed) {
    std::fprintf(stderr, "gradwire: CUPTI refuses activity kind %d: %s%s; no device is recorded\n",
                 static_cast<int>(kind), text_of(api_, result).c_str(), advice_for(result));
  }
  return false;
}

/// What the machine is made of; best effort, as others may tell it too. CUPTI tells it when CUDA
/// starts, which is when we are loaded; a dump tells it once more.
void CuptiSession::enable_places(bool dump) {
  for (const CUpti_ActivityKind kind : place_kinds) {
    if (!dump) {
      enable_kind(kind, false);
    } else if (api_.enable_and_dump != nullptr) {
      api_.enable_and_dump(kind);
    }
  }
}

void CuptiSession::enable_calls() {
  enable_kind(CUPTI_ACTIVITY_KIND_RUNTIME, false);
  enable_kind(CUPTI_ACTIVITY_KIND_DRIVER, false);
  // All but ours are taken out again: each costs the program's threads time. The reverse, choosing
  // ours without the kinds, is documented too, but CUPTI 13.0's records then hold no call at all.
  for_each_call(api_, [&](bool runtime, std::uint32_t callback, std::string_view name) {
    const auto choose = runtime ? api_.enable_runtime_api : api_.enable_driver_api;
    if (choose != nullptr && !is_recorded_call(name)) choose(callback, 0);
  });
}

void CuptiSession::enable(bool late) {
  if (enabled_.exchange(true)) return;
  if (full_) {
    if (late) enable_places(true);
    enable_kind(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, false);
    enable_calls();
  }
  for (const CUpti_ActivityKind kind : needed_kinds) {
    if (enable_kind(kind, true)) continue;
    disable();
    return;
  }
}

void CuptiSession::disable() {
  if (!enabled_.exchange(false)) return;
  for (const CUpti_ActivityKind kind : needed_kinds) api_.disable(kind);
  if (!full_) return;
  for (const CUpti_ActivityKind kind : place_kinds) api_.disable(kind);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                        CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}) {
    api_.disable(kind);
  }
}

void CuptiSession::flush(bool forced) {
  api_.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  if (!forced) return;
  flushed_ = true;
  if (out_ > 0) {
    std::fprintf(stderr,
                 "gradwire: CUPTI kept %llu of our buffers: another profiler in the program "
                 "(torch.profiler?) has taken its callbacks; the device's records are incomplete\n",
                 static_cast<unsigned long long>(out_.load()));
  }
}

void CuptiSession::push_range(std::uint64_t range) {
  if (full_) api_.push_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, range);
}

void CuptiSession::pop_range() {
  std::uint64_t last = 0;
  if (full_) api_.pop_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

std::int64_t CuptiSession::clock_ns() const {
  std::uint64_t time = 0;
  return api_.get_timestamp(&time) == CUPTI_SUCCESS ? static_cast<std::int64_t>(time) : 0;
}

DeviceCounts CuptiSession::counts() const {
  return {dropped_, unstamped_, flushed_ ? out_.load() : 0, background_ns_};
}

std::uint8_t* CuptiSession::take_buffer() {
  const std::lock_guard lock(buffers_mutex_);
  if (free_.empty()) {
    // CUPTI drops records, and counts them.
    if (buffers_ == buffers_max_) return nullptr;
    void* made = std::aligned_alloc(buffer_alignment, buffer_bytes);
    if (made == nullptr) return nullptr;
    ++buffers_;
    free_.push_back(static_cast<std::uint8_t*>(made));
  }
  std::uint8_t* buffer = free_.back();
  free_.pop_back();
  ++out_;
  return buffer;
}

void CuptiSession::return_buffer(std::uint8_t* buffer) {
  const std::lock_guard lock(buffers_mutex_);
  free_.push_back(buffer);
  --out_;
}

void CuptiSession::read_buffer(std::uint8_t* buffer, std::size_t valid) {
  std::vector<std::byte> records;
  CUpti_Activity* activity = nullptr;
  while (valid > 0 && api_.get_next_record(buffer, valid, &activity) == CUPTI_SUCCESS) {
    if (!records_.convert(*activity, records)) ++unstamped_;
  }
  if (!records.empty()) recorder_.append(records);
  std::size_t dropped = 0;
  if (api_.get_num_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS) dropped_ += dropped;
}

/// None in a forked child: its parent's records are not its own.
CuptiSession* CuptiSession::receiving() {
  CuptiSession* session = running;
  return session != nullptr && Recorder::current() == &session->recorder_ ? session : nullptr;
}

void CuptiSession::on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  const Inside inside;
  CuptiSession* session = receiving();
  *buffer = session != nullptr ? session->take_buffer() : nullptr;
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *records = 0;  // as many as there is room for
}

void CuptiSession::on_complete(CUcontext /*context*/, std::uint32_t /*stream*/,
                               std::uint8_t* buffer, std::size_t /*size*/, std::size_t valid) {
  const Inside inside;
  CuptiSession* session = receiving();
  if (session == nullptr || buffer == nullptr) return;
  const std::int64_t begin = monotonic_ns();
  try {
    session->read_buffer(buffer, valid);
  } catch (const std::exception& error) {  // no memory: not the program's fault
    std::fprintf(stderr, "gradwire: a buffer of device records is lost: %s\n", error.what());
    ++session->dropped_;
  }
  session->return_buffer(buffer);
  session->background_ns_ += static_cast<std::uint64_t>(monotonic_ns() - begin);
}

}  // namespace gradwire::calibration
