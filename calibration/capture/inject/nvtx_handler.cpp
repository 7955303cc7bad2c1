#include "calibration/capture/inject/nvtx_handler.hpp"

#include <nvtx3/nvToolsExtPayload.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "calibration/capture/inject/inside.hpp"
#include "calibration/capture/inject/nccl_payload.hpp"
#include "calibration/capture/inject/recorder.hpp"

namespace gradwire::calibration {
namespace {

constexpr int no_tracking = NVTX_NO_PUSH_POP_TRACKING;

/// A domain's handle is the id of its name in the file; the default domain is null, and 0.
std::uint32_t id_of(nvtxDomainHandle_t domain) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(domain));
}

/// A registered string: NVTX never unregisters one, and calls may come after exit handlers.
struct KeptString {
  std::string text;
  KeptString* former = nullptr;
};
std::atomic<KeptString*> kept_strings = nullptr;

/// Takes no lock: a child that is forked while another thread is here would find it held for good.
/// @return null without memory: the range has no name then
nvtxStringHandle_t keep_string(const char* text) noexcept {
  const Inside inside;
  try {
    auto* kept = new KeptString{text != nullptr ? text : "", kept_strings.load()};
    while (!kept_strings.compare_exchange_weak(kept->former, kept)) {
    }
    return reinterpret_cast<nvtxStringHandle_t>(&kept->text);
  } catch (const std::exception&) {
    if (Recorder* recorder = Recorder::current()) recorder->count_lost();
    return nullptr;
  }
}

/// 0, the default domain, in a signal's handler that interrupted us, and without memory.
std::uint32_t id_of_name(std::string_view name) noexcept {
  Recorder* recorder = Recorder::current();
  if (recorder == nullptr) return 0;
  const Inside inside;
  try {
    if (inside.first()) return recorder->name(name);
  } catch (const std::exception&) {  // counted below
  }
  recorder->count_lost();
  return 0;
}

std::string_view text_of(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

std::string_view text_of(Recorder& recorder, const nvtxEventAttributes_t& event) {
  switch (event.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return text_of(event.message.ascii);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* text = reinterpret_cast<const std::string*>(event.message.registered);
      return text != nullptr ? std::string_view(*text) : std::string_view();
    }
    case NVTX_MESSAGE_TYPE_UNICODE:
      recorder.count_wide_text();
      return {};
    default:
      return {};
  }
}

/// Message size of a range of NCCL's. An extended payload is an array of blobs, one in NCCL; their
/// count stands in reserved0.
std::int64_t bytes_of(const nvtxEventAttributes_t& event, std::string_view text) {
  if (event.payloadType != NVTX_PAYLOAD_TYPE_EXT || event.reserved0 < 1) return 0;
  const auto* blob =
      std::bit_cast<const nvtxPayloadData_t*>(static_cast<std::uintptr_t>(event.payload.ullValue));
  return blob != nullptr ? nccl_message_bytes(text, blob->payload, blob->size) : 0;
}

int push(std::uint32_t domain, const nvtxEventAttributes_t* event) {
  Recorder* recorder = Recorder::current();
  if (recorder == nullptr || event == nullptr) return no_tracking;
  const std::string_view text = text_of(*recorder, *event);
  return recorder->push(domain, text, bytes_of(*event, text));
}

int pop(std::uint32_t domain) {
  Recorder* recorder = Recorder::current();
  const int depth = recorder != nullptr ? recorder->pop(domain) : no_tracking;
  return depth >= 0 ? depth : no_tracking;
}

nvtxRangeId_t start(std::uint32_t domain, const nvtxEventAttributes_t* event) {
  Recorder* recorder = Recorder::current();
  if (recorder == nullptr || event == nullptr) return 0;
  const std::string_view text = text_of(*recorder, *event);
  return recorder->start(domain, text, bytes_of(*event, text));
}

void end(nvtxRangeId_t range) {
  if (Recorder* recorder = Recorder::current()) recorder->end(range);
}

void mark(std::uint32_t domain, const nvtxEventAttributes_t* event) {
  Recorder* recorder = Recorder::current();
  if (recorder != nullptr && event != nullptr) recorder->mark(domain, text_of(*recorder, *event));
}

void count_wide() {
  if (Recorder* recorder = Recorder::current()) recorder->count_wide_text();
}

// What the clients call. Wide texts are counted and not kept, and their ranges stay in order.

int NVTX_API range_push(const char* text) {
  Recorder* recorder = Recorder::current();
  return recorder != nullptr ? recorder->push(0, text_of(text), 0) : no_tracking;
}
int NVTX_API range_push_wide(const wchar_t* /*text*/) {
  count_wide();
  return range_push(nullptr);
}
int NVTX_API range_push_event(const nvtxEventAttributes_t* event) {
  return push(0, event);
}
int NVTX_API range_pop() {
  return pop(0);
}
nvtxRangeId_t NVTX_API range_start(const char* text) {
  Recorder* recorder = Recorder::current();
  return recorder != nullptr ? recorder->start(0, text_of(text), 0) : 0;
}
nvtxRangeId_t NVTX_API range_start_wide(const wchar_t* /*text*/) {
  count_wide();
  return range_start(nullptr);
}
nvtxRangeId_t NVTX_API range_start_event(const nvtxEventAttributes_t* event) {
  return start(0, event);
}
void NVTX_API range_end(nvtxRangeId_t range) {
  end(range);
}
void NVTX_API mark_text(const char* text) {
  if (Recorder* recorder = Recorder::current()) recorder->mark(0, text_of(text));
}
void NVTX_API mark_wide(const wchar_t* /*text*/) {
  count_wide();
}
void NVTX_API mark_event(const nvtxEventAttributes_t* event) {
  mark(0, event);
}
int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return push(id_of(domain), event);
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) {
  return pop(id_of(domain));
}
nvtxRangeId_t NVTX_API domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return start(id_of(domain), event);
}
void NVTX_API domain_end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t range) {
  end(range);
}
void NVTX_API domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  mark(id_of(domain), event);
}
nvtxDomainHandle_t NVTX_API domain_create(const char* name) {
  return std::bit_cast<nvtxDomainHandle_t>(std::uintptr_t{id_of_name(text_of(name))});
}
nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t /*domain*/, const char* text) {
  return keep_string(text);
}
nvtxStringHandle_t NVTX_API register_wide(nvtxDomainHandle_t /*domain*/, const wchar_t* /*text*/) {
  count_wide();
  return nullptr;
}

/// One module's functions in a client's table.
class Module {
 public:
  Module(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &table_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void set(unsigned index, Function* function) {
    if (index < size_ && table_[index] != nullptr) {
      *table_[index] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

int install_nvtx(NvtxGetExportTableFunc_t get_export_table, RecordMode mode) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table(static_cast<std::uint32_t>(NVTX_ETID_CALLBACKS)));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks)) return 0;
  Module core(*callbacks, NVTX_CB_MODULE_CORE);
  Module domains(*callbacks, NVTX_CB_MODULE_CORE2);
  core.set(NVTX_CBID_CORE_MarkA, mark_text);
  core.set(NVTX_CBID_CORE_MarkW, mark_wide);
  core.set(NVTX_CBID_CORE_MarkEx, mark_event);
  domains.set(NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, domain_create);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, register_wide);
  if (mode == RecordMode::light) return 1;
  core.set(NVTX_CBID_CORE_RangePushA, range_push);
  core.set(NVTX_CBID_CORE_RangePushW, range_push_wide);
  core.set(NVTX_CBID_CORE_RangePushEx, range_push_event);
  core.set(NVTX_CBID_CORE_RangePop, range_pop);
  core.set(NVTX_CBID_CORE_RangeStartA, range_start);
  core.set(NVTX_CBID_CORE_RangeStartW, range_start_wide);
  core.set(NVTX_CBID_CORE_RangeStartEx, range_start_event);
  core.set(NVTX_CBID_CORE_RangeEnd, range_end);
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  return 1;
}

}  // namespace gradwire::calibration
