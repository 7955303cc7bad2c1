#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibration/capture/inject/activity_records.hpp"
#include "calibration/capture/inject/cupti_api.hpp"
#include "calibration/capture/inject/device_source.hpp"
#include "calibration/capture/inject/recorder.hpp"

namespace gradwire::calibration {

/// The calls to record, by call_key(), with their names. The CUPTI that runs is asked: its numbers
/// grow with each version.
[[nodiscard]] std::unordered_map<std::uint64_t, std::string> recorded_calls(const CuptiApi& api);

/// Receives CUPTI's activity records and hands them to a recorder: kernels, copies and memsets; in
/// full mode also the calls that launch, move or wait, which range each was made in, and GPUs,
/// NVLinks and PCIe.
///
/// Of waits, the calls are recorded and not CUPTI's SYNCHRONIZATION records: they tell the same.
/// KIND_KERNEL is never enabled: it would run kernels one after another.
class CuptiSession final : public DeviceSource {
 public:
  /// REQUIRES: one session at a time; CUPTI's callbacks carry no context of the caller's.
  CuptiSession(const CuptiApi& api, Recorder& recorder);
  ~CuptiSession() override;

  /// Registers with CUPTI. @return false, and one line in `why`, where it refuses
  bool start(std::string& why);

  /// Where a kind that must be there is refused: one line on standard error, and no device records.
  void enable() override;
  void disable() override;
  void flush(bool forced) override;
  void push_range(std::uint64_t range) override;
  void pop_range() override;
  [[nodiscard]] std::int64_t clock_ns() const override;
  [[nodiscard]] DeviceCounts counts() const override;

 private:
  static CuptiSession* receiving();
  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
  static void CUPTIAPI on_complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t size, std::size_t valid);
  std::uint8_t* take_buffer();
  void return_buffer(std::uint8_t* buffer);
  void read_buffer(std::uint8_t* buffer, std::size_t valid);
  bool enable_kind(CUpti_ActivityKind kind, bool dump);
  void enable_calls();
  [[nodiscard]] bool other_subscriber() const;

  static std::atomic<CuptiSession*> current_;

  CuptiApi api_;
  Recorder& recorder_;
  bool full_;
  std::uint32_t version_ = 0;  ///< of the library that runs
  ActivityRecords records_;
  std::atomic<bool> enabled_ = false;

  std::mutex buffers_mutex_;
  std::vector<std::uint8_t*> free_;
  std::size_t buffers_ = 0;  ///< made so far
  std::size_t buffers_max_;
  std::atomic<std::uint64_t> out_ = 0;  ///< CUPTI has them
  bool flushed_ = false;                ///< by force: none may be out
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> unstamped_ = 0;
  std::atomic<std::uint64_t> background_ns_ = 0;
};

}  // namespace gradwire::calibration
