#include "calibration/capture/inject/nvtx_handler.hpp"

#include <nvtx3/nvToolsExtPayload.h>

#include <array>
#include <string>
#include <vector>

#include "calibration/capture/inject/nccl_payload.hpp"
#include "calibration/capture/inject/recorder.hpp"
#include "tests/calibration/capture/recording_place.hpp"
#include "tests/catch.hpp"

using namespace gradwire::calibration;

namespace {

/// The tables that NVTX's header keeps in a client, with room for its two modules.
struct Client {
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE_SIZE> core{};
  std::array<NvtxFunctionPointer, NVTX_CBID_CORE2_SIZE> core2{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE_SIZE> core_table{};
  std::array<NvtxFunctionPointer*, NVTX_CBID_CORE2_SIZE> core2_table{};
  NvtxExportTableCallbacks callbacks{};
};
Client* client = nullptr;

int module_table(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  if (module == NVTX_CB_MODULE_CORE) {
    *table = client->core_table.data();
    *size = NVTX_CBID_CORE_SIZE;
    return 1;
  }
  if (module == NVTX_CB_MODULE_CORE2) {
    *table = client->core2_table.data();
    *size = NVTX_CBID_CORE2_SIZE;
    return 1;
  }
  return 0;
}

const void* export_table(std::uint32_t id) {
  return id == NVTX_ETID_CALLBACKS ? &client->callbacks : nullptr;
}

/// A program with NVTX in it, whose tool we are.
class NvtxRun {
 public:
  explicit NvtxRun(const std::string& name, RecordMode mode = RecordMode::full)
      : place_(name), recorder_(place_.settings(mode), {}) {
    Recorder::install(&recorder_);
    client = &client_;
    // The first entry of each table stands for no function.
    for (std::size_t index = 1; index < client_.core.size(); ++index) {
      client_.core_table[index] = &client_.core[index];
    }
    for (std::size_t index = 1; index < client_.core2.size(); ++index) {
      client_.core2_table[index] = &client_.core2[index];
    }
    client_.callbacks = {sizeof(NvtxExportTableCallbacks), module_table};
    installed = install_nvtx(export_table, mode);
  }

  template <class Function>
  Function* core(NvtxCallbackIdCore index) {
    return reinterpret_cast<Function*>(client_.core[static_cast<std::size_t>(index)]);
  }
  template <class Function>
  Function* core2(NvtxCallbackIdCore2 index) {
    return reinterpret_cast<Function*>(client_.core2[static_cast<std::size_t>(index)]);
  }
  Recording finish() {
    recorder_.finish();
    return read_recording(recorder_.path());
  }

  int installed = 0;

 private:
  RecordingPlace place_;
  Recorder recorder_;
  Client client_;
};

nvtxEventAttributes_t event_of(const char* text) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

// NCCL's payloads, from their description in nccl_payload.hpp.
struct NewAllReduce {
  std::uint64_t communicator;
  std::size_t bytes;
  int op;
};
struct OldAllReduce {
  std::size_t bytes;
  int op;
};
struct NewAllGather {
  std::uint64_t communicator;
  std::size_t bytes;
};
struct NewReduce {
  std::uint64_t communicator;
  std::size_t bytes;
  int root;
  int op;
};

}  // namespace

TEST_CASE("every way of pushing, starting and marking in NVTX is recorded", "[nvtx]") {
  NvtxRun run("ways");
  REQUIRE(run.installed == 1);
  const nvtxEventAttributes_t event = event_of("event");
  const auto push = run.core<int(const char*)>(NVTX_CBID_CORE_RangePushA);
  const auto push_event = run.core<int(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_RangePushEx);
  const auto pop = run.core<int()>(NVTX_CBID_CORE_RangePop);
  CHECK(push("text") == 0);
  CHECK(push_event(&event) == 1);
  CHECK(pop() == 1);
  CHECK(pop() == 0);
  CHECK(pop() == NVTX_NO_PUSH_POP_TRACKING);
  const auto start = run.core<nvtxRangeId_t(const char*)>(NVTX_CBID_CORE_RangeStartA);
  run.core<void(nvtxRangeId_t)>(NVTX_CBID_CORE_RangeEnd)(start("process"));
  run.core<void(const char*)>(NVTX_CBID_CORE_MarkA)("mark");
  run.core<void(const nvtxEventAttributes_t*)>(NVTX_CBID_CORE_MarkEx)(&event);
  const Recording read = run.finish();
  CHECK(ranges_named(read.trace, "text").size() == 1);
  CHECK(ranges_named(read.trace, "event").size() == 1);
  CHECK(ranges_named(read.trace, "process").size() == 1);
  CHECK(mark_names(read.trace) == std::vector<std::string>{"mark", "event"});
}

TEST_CASE("domains and registered strings keep their names", "[nvtx]") {
  NvtxRun run("domain");
  const auto create = run.core2<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA);
  const auto keep = run.core2<nvtxStringHandle_t(nvtxDomainHandle_t, const char*)>(
      NVTX_CBID_CORE2_DomainRegisterStringA);
  using DomainPush = int(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
  const auto push = run.core2<DomainPush>(NVTX_CBID_CORE2_DomainRangePushEx);
  const auto pop = run.core2<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop);
  nvtxDomainHandle_t domain = create("cuDNN");
  nvtxEventAttributes_t event = event_of(nullptr);
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = keep(domain, "registered");
  push(domain, &event);
  pop(domain);
  const Recording read = run.finish();
  REQUIRE(ranges_named(read.trace, "registered").size() == 1);
  CHECK(read.trace.names[read.trace.ranges[0].domain] == "cuDNN");
}

TEST_CASE("wide texts are counted, and their ranges stay in order", "[nvtx]") {
  NvtxRun run("wide");
  const auto push = run.core<int(const char*)>(NVTX_CBID_CORE_RangePushA);
  const auto push_wide = run.core<int(const wchar_t*)>(NVTX_CBID_CORE_RangePushW);
  const auto pop = run.core<int()>(NVTX_CBID_CORE_RangePop);
  push("outer");
  CHECK(push_wide(L"wide") == 1);
  pop();
  pop();
  run.core<void(const wchar_t*)>(NVTX_CBID_CORE_MarkW)(L"mark");
  const Recording read = run.finish();
  CHECK(read.cost.wide_texts == 2);
  CHECK(read.trace.ranges.size() == 2);
  CHECK(ranges_named(read.trace, "outer").size() == 1);
}

TEST_CASE("in light mode only marks are recorded", "[nvtx]") {
  NvtxRun run("light", RecordMode::light);
  CHECK(run.core<int(const char*)>(NVTX_CBID_CORE_RangePushA) == nullptr);
  run.core<void(const char*)>(NVTX_CBID_CORE_MarkA)("gradwire.iteration:0");
  const Recording read = run.finish();
  CHECK(mark_names(read.trace) == std::vector<std::string>{"gradwire.iteration:0"});
}

TEST_CASE("NCCL's ranges tell the bytes of their message", "[nvtx][nccl]") {
  NvtxRun run("nccl");
  const auto create = run.core2<nvtxDomainHandle_t(const char*)>(NVTX_CBID_CORE2_DomainCreateA);
  using DomainPush = int(nvtxDomainHandle_t, const nvtxEventAttributes_t*);
  const auto push = run.core2<DomainPush>(NVTX_CBID_CORE2_DomainRangePushEx);
  nvtxDomainHandle_t domain = create("NCCL");
  const NewAllReduce message{0x1234, 8196000, 0};
  const nvtxPayloadData_t blob{0, sizeof(message), &message};
  nvtxEventAttributes_t event = event_of("ncclAllReduce");
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<std::uintptr_t>(&blob);
  push(domain, &event);
  run.core2<int(nvtxDomainHandle_t)>(NVTX_CBID_CORE2_DomainRangePop)(domain);
  const Recording read = run.finish();
  REQUIRE(ranges_named(read.trace, "ncclAllReduce").size() == 1);
  CHECK(read.trace.ranges[0].bytes == 8196000);
}

TEST_CASE("payloads of old and new NCCL are told apart by their size", "[nvtx][nccl]") {
  const auto bytes = [](const char* range, const auto& payload) {
    return nccl_message_bytes(range, &payload, sizeof(payload));
  };
  CHECK(bytes("ncclAllReduce", NewAllReduce{1, 4096, 2}) == 4096);
  CHECK(bytes("ncclAllReduce", OldAllReduce{4096, 2}) == 4096);
  CHECK(bytes("ncclSend", NewAllReduce{1, 512, 3}) == 512);
  CHECK(bytes("ncclReduce", NewReduce{1, 64, 3, 4}) == 64);
  CHECK(bytes("ncclAllGather", NewAllGather{1, 1024}) == 1024);
  CHECK(bytes("ncclAllGather", std::size_t{2048}) == 2048);
  CHECK(bytes("ncclCommInitRank", NewReduce{1, 8, 0, 0}) == 0);
  CHECK(bytes("ncclAllReduce", std::array<std::uint64_t, 5>{}) == 0);
  CHECK(nccl_message_bytes("ncclAllReduce", nullptr, 24) == 0);
}

TEST_CASE("a client with older tables is left alone", "[nvtx]") {
  NvtxRun run("old");
  client->callbacks.struct_size = 4;
  CHECK(install_nvtx(export_table, RecordMode::full) == 0);
  CHECK(install_nvtx([](std::uint32_t) -> const void* { return nullptr; }, RecordMode::full) == 0);
}
