// A libnvidia-ml of two GPUs, for the tests: what it answers is told by FAKE_NVML_* variables.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long number(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtol(text, nullptr, 10) : otherwise;
}

int write_text(char* text, unsigned size, const char* format, unsigned long value) {
  std::snprintf(text, size, format, value);
  return 0;
}

unsigned long index_of(const void* device) {
  return reinterpret_cast<unsigned long>(device) - 1;
}

constexpr int not_supported = 3;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return static_cast<int>(number("FAKE_NVML_INIT", 0));
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int /*result*/) {
  return "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return write_text(text, size, "580.%lu", 159);
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = static_cast<int>(number("FAKE_NVML_CUDA", 13000));
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(number("FAKE_NVML_COUNT", 2));
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<unsigned long>(index) + 1);
  return 0;
}
int nvmlDeviceGetName(void* /*device*/, char* text, unsigned size) {
  return write_text(text, size, "NVIDIA H%lu", 200);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return write_text(text, size, "GPU-0000-%lu", index_of(device));
}
int nvmlDeviceGetPciInfo_v3(void* device, void* info) {
  constexpr unsigned bus_offset = 36;  // nvmlPciInfo_t::busId
  return write_text(static_cast<char*>(info) + bus_offset, 32, "00000000:%02lX:00.0",
                    0x18 + index_of(device));
}
int nvmlDeviceGetCudaComputeCapability(void* /*device*/, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* /*device*/, void* memory) {
  *static_cast<unsigned long long*>(memory) = 150'000'000'000ULL;  // total, then free and used
  return 0;
}
int nvmlDeviceGetClockInfo(void* /*device*/, int clock, unsigned* megahertz) {
  *megahertz = clock == 1 ? 1200 : 3200;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*device*/, int clock, unsigned* megahertz) {
  *megahertz = clock == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons =
      static_cast<unsigned long long>(index_of(device) == 0 ? number("FAKE_NVML_THROTTLE", 0) : 1);
  return 0;
}
int nvmlDeviceGetPersistenceMode(void* /*device*/, int* mode) {
  *mode = static_cast<int>(number("FAKE_NVML_PERSISTENCE", 1));
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  if (index_of(device) == 1) return not_supported;
  *current = static_cast<unsigned>(number("FAKE_NVML_MIG", 0));
  *pending = *current;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* /*device*/, unsigned* generation) {
  *generation = 5;
  return 0;
}
int nvmlDeviceGetNvLinkState(void* /*device*/, unsigned link, int* active) {
  if (link >= 2) return not_supported;
  *active = link == 0 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(void* /*device*/, unsigned /*link*/, unsigned* version) {
  *version = 4;
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* /*device*/, void* /*other*/, int* level) {
  *level = 10;
  return 0;
}
}
