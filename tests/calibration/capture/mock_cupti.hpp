#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "calibration/capture/inject/cupti_api.hpp"
#include "calibration/capture/inject/cupti_records.hpp"

namespace gradwire::calibration {

/// A libcupti without a driver: it keeps what its client asks for, and its launches come back
/// through the client's own callbacks, in buffers that the client gave. One at a time.
class MockCupti {
 public:
  MockCupti();
  ~MockCupti();
  MockCupti(const MockCupti&) = delete;
  MockCupti& operator=(const MockCupti&) = delete;

  [[nodiscard]] CuptiApi api() const;

  // What goes wrong.
  std::uint32_t version = CUPTI_API_VERSION;
  std::map<CUpti_ActivityKind, CUptiResult> enable_results{};
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  CUptiResult register_result = CUPTI_SUCCESS;
  bool mig = false;         ///< the device is a slice
  bool in_graphs = true;    ///< kernels run in graph 5
  std::size_t dropped = 0;  ///< told at the next completion
  bool hijacked = false;    ///< another client took the callbacks: ours are not called any more
  bool reversed = false;    ///< the newest buffer completes first

  // What the client did.
  std::set<CUpti_ActivityKind> enabled{};
  std::set<std::uint32_t> runtime_calls_off{};  ///< taken out of the kind's calls
  std::vector<std::string> order{};             ///< of its calls
  std::size_t refused_buffers = 0;              ///< requests that it declined

  /// A launch by the calling thread of a kernel with these times: a call, its link, the kernel, as
  /// far as they are enabled.
  void launch(const std::string& name, std::uint64_t start, std::uint64_t end,
              std::uint32_t correlation);
  void copy(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end,
            std::uint32_t correlation);
  /// From now on records go to another buffer.
  void next_buffer();

 private:
  struct Buffer {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  friend struct MockCuptiCalls;

  template <class Record>
  void add(const Record& record);
  template <class Kernel>
  void add_kernel(const std::string& name, std::uint64_t start, std::uint64_t end,
                  std::uint32_t correlation);
  void complete(const Buffer& buffer);
  void flush();

  std::mutex mutex_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;
  std::vector<Buffer> buffers_;
  std::set<std::string> names_;  ///< outlive the records, as in CUPTI
};

/// CUPTI's number of cudaLaunchKernel.
constexpr std::uint32_t mock_launch_call = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
/// Launches nothing.
constexpr std::uint32_t mock_other_call = CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020;

}  // namespace gradwire::calibration
