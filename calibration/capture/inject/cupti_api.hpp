#pragma once

#include <cupti.h>

#include <optional>
#include <string>
#include <vector>

namespace gradwire::calibration {

/// The calls of CUPTI that the recorder makes, found at run time and not linked, because
/// - a torch wheel brings a libcupti of its own, and the process must have one: what is loaded
/// wins;
/// - a program without CUDA, or a machine without CUPTI, must still record its ranges;
/// - tests put their own in.
struct CuptiApi {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamp_callback = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityEnableAndDump) enable_and_dump = nullptr;  ///< may be null
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityEnableRuntimeApi) enable_runtime_api = nullptr;  ///< may be null
  decltype(&::cuptiActivityEnableDriverApi) enable_driver_api = nullptr;    ///< may be null
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) get_num_dropped_records = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
};

/// Where libcupti may be, in the order of trying: what the process has loaded, GRADWIRE_CUPTI, what
/// the loader finds, the toolkit's usual folders.
[[nodiscard]] std::vector<std::string> cupti_names();

/// Finds CUPTI.
/// @param library  only this file, where not empty
/// @return empty where there is none; `why` then says the reason in one line
std::optional<CuptiApi> load_cupti(std::string& why, const std::string& library = {});

/// CUPTI's text for a result: "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES".
[[nodiscard]] std::string text_of(const CuptiApi& api, CUptiResult result);

}  // namespace gradwire::calibration
