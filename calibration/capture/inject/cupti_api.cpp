#include "calibration/capture/inject/cupti_api.hpp"

#include <array>
#include <cstdlib>

#include "calibration/capture/common/dynamic_library.hpp"

namespace gradwire::calibration {
namespace {

/// CUDA 13 and 12; the newest first, because ours may be built with either.
constexpr std::array<const char*, 2> sonames{"libcupti.so.13", "libcupti.so.12"};

bool find_all(const DynamicLibrary& library, CuptiApi& api) {
  library.find("cuptiActivityEnableAndDump", api.enable_and_dump);
  library.find("cuptiActivityEnableRuntimeApi", api.enable_runtime_api);
  library.find("cuptiActivityEnableDriverApi", api.enable_driver_api);
  return library.find("cuptiGetVersion", api.get_version) &&
         library.find("cuptiGetResultString", api.get_result_string) &&
         library.find("cuptiGetTimestamp", api.get_timestamp) &&
         library.find("cuptiSubscribe", api.subscribe) &&
         library.find("cuptiUnsubscribe", api.unsubscribe) &&
         library.find("cuptiGetCallbackName", api.get_callback_name) &&
         library.find("cuptiActivityRegisterTimestampCallback", api.register_timestamp_callback) &&
         library.find("cuptiActivityRegisterCallbacks", api.register_callbacks) &&
         library.find("cuptiActivityEnable", api.enable) &&
         library.find("cuptiActivityDisable", api.disable) &&
         library.find("cuptiActivityFlushAll", api.flush_all) &&
         library.find("cuptiActivityGetNextRecord", api.get_next_record) &&
         library.find("cuptiActivityGetNumDroppedRecords", api.get_num_dropped_records) &&
         library.find("cuptiActivityPushExternalCorrelationId", api.push_external_id) &&
         library.find("cuptiActivityPopExternalCorrelationId", api.pop_external_id);
}

DynamicLibrary find_library(std::string& why) {
  for (const char* name : sonames) {
    DynamicLibrary library = DynamicLibrary::loaded(name);
    if (library.is_open()) return library;
  }
  DynamicLibrary library;
  for (const std::string& name : cupti_names()) {
    library = DynamicLibrary::load(name);
    if (library.is_open()) return library;
  }
  why = "no CUPTI (" + library.error() +
        "); expected libcupti.so.13 or .12 on LD_LIBRARY_PATH, or its file in GRADWIRE_CUPTI";
  return library;
}

}  // namespace

std::vector<std::string> cupti_names() {
  std::vector<std::string> names;
  if (const char* given = std::getenv("GRADWIRE_CUPTI")) names.emplace_back(given);
  names.insert(names.end(), sonames.begin(), sonames.end());
  const char* home = std::getenv("CUDA_HOME");
  const std::string toolkit = home != nullptr ? home : "/usr/local/cuda";
  for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/"}) {
    for (const char* name : sonames) names.push_back(toolkit + folder + name);
  }
  return names;
}

std::optional<CuptiApi> load_cupti(std::string& why, const std::string& library) {
  const DynamicLibrary found = library.empty() ? find_library(why) : DynamicLibrary::load(library);
  if (!found.is_open()) {
    if (why.empty()) why = "no CUPTI: " + found.error();
    return std::nullopt;
  }
  CuptiApi api;
  if (!find_all(found, api)) {
    why = found.name() + " lacks calls that the recorder makes; expected CUPTI of CUDA 12 or newer";
    return std::nullopt;
  }
  return api;
}

std::string text_of(const CuptiApi& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.get_result_string(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
  return "CUPTI result " + std::to_string(static_cast<int>(result));
}

}  // namespace gradwire::calibration
