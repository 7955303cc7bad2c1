#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gradwire::calibration {

/// A call of CUDA, NCCL or cuBLAS failed (exit 1). The text names the call.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw DeviceError(std::string(call) + ": " + cudaGetErrorString(result));
}
#define GRADWIRE_CUDA_CHECK(call) ::gradwire::calibration::check_cuda((call), #call)

/// Memory of the current GPU, not initialised.
template <class Element>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) : count_(count) {
    if (count == 0) return;
    void* memory = nullptr;
    GRADWIRE_CUDA_CHECK(cudaMalloc(&memory, count * sizeof(Element)));
    data_ = static_cast<Element*>(memory);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  [[nodiscard]] Element* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(Element); }
  void clear(cudaStream_t stream) const {
    GRADWIRE_CUDA_CHECK(cudaMemsetAsync(data_, 0, bytes(), stream));
  }
  /// What it holds, once everything before on its GPU has ended.
  [[nodiscard]] std::vector<Element> fetch() const {
    std::vector<Element> values(count_);
    GRADWIRE_CUDA_CHECK(cudaDeviceSynchronize());
    GRADWIRE_CUDA_CHECK(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }
  void store(const std::vector<Element>& values) const {
    GRADWIRE_CUDA_CHECK(
        cudaMemcpy(data_, values.data(), values.size() * sizeof(Element), cudaMemcpyHostToDevice));
  }

 private:
  Element* data_ = nullptr;
  std::size_t count_ = 0;
};

/// A stream of the current GPU that does not wait for the default one.
class Stream {
 public:
  /// @param urgent  with the highest priority there is.
  explicit Stream(bool urgent = false) {
    int least = 0;
    int greatest = 0;
    GRADWIRE_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    GRADWIRE_CUDA_CHECK(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { GRADWIRE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The time between two points of a stream, on the GPU's clock.
class StreamTimer {
 public:
  StreamTimer() {
    GRADWIRE_CUDA_CHECK(cudaEventCreate(&begin_));
    GRADWIRE_CUDA_CHECK(cudaEventCreate(&end_));
  }
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;
  StreamTimer(StreamTimer&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), end_(std::exchange(other.end_, nullptr)) {}
  StreamTimer& operator=(StreamTimer&&) = delete;
  ~StreamTimer() {
    if (begin_ != nullptr) cudaEventDestroy(begin_);
    if (end_ != nullptr) cudaEventDestroy(end_);
  }
  void start(cudaStream_t stream) { GRADWIRE_CUDA_CHECK(cudaEventRecord(begin_, stream)); }
  void stop(cudaStream_t stream) { GRADWIRE_CUDA_CHECK(cudaEventRecord(end_, stream)); }
  /// Waits for the second point. @return microseconds
  [[nodiscard]] double elapsed_us() const {
    GRADWIRE_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    GRADWIRE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// How many calls are timed: few of long ones.
struct CallCounts {
  int warm_up = 5;
  int timed = 50;
};

/// The mean of `counts.timed` calls one behind the other. @return microseconds
template <class Call>
[[nodiscard]] double time_pipelined(const Stream& stream, const CallCounts& counts,
                                    const Call& call) {
  StreamTimer timer;
  timer.start(stream.get());
  for (int i = 0; i < counts.timed; ++i) call();
  timer.stop(stream.get());
  return timer.elapsed_us() / counts.timed;
}

}  // namespace gradwire::calibration
