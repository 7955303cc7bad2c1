#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "calibration/capture/bench/cuda_support.hpp"

namespace gradwire::calibration {

/// Work of one kind of layer on the current GPU, about a millisecond or less of it.
class Compute {
 public:
  Compute() = default;
  Compute(const Compute&) = delete;
  Compute& operator=(const Compute&) = delete;
  Compute(Compute&&) = delete;
  Compute& operator=(Compute&&) = delete;
  virtual ~Compute() = default;
  virtual void launch(cudaStream_t stream) = 0;
  /// Runs once and compares some results with the CPU's. @return what differs, "" when nothing does
  [[nodiscard]] virtual std::string check() = 0;
};

/// The kinds of layers that are measured: a profile's own names ("linear", "conv3", "act", ...).
[[nodiscard]] const std::vector<std::string>& compute_kinds();
/// What stands for a kind, for the reader of the file.
[[nodiscard]] std::string compute_description(const std::string& kind);
/// REQUIRES: a name of compute_kinds(). @throws DeviceError where its library is missing.
[[nodiscard]] std::unique_ptr<Compute> make_compute(const std::string& kind);
[[nodiscard]] std::unique_ptr<Compute> make_elementwise();  ///< relu over 64 Mi floats
[[nodiscard]] std::unique_ptr<Compute> make_normalise();    ///< batch norm in training, forward

/// A kernel that stands for a collective's: blocks of 640 threads (what NCCL starts for its Simple
/// protocol, src/include/device.h NCCL_MAX_NTHREADS) copy device memory until they are stopped.
class StandIn {
 public:
  /// @param blocks  how many SMs it takes, at least.
  explicit StandIn(int blocks);
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  StandIn(StandIn&&) = delete;
  StandIn& operator=(StandIn&&) = delete;
  ~StandIn();

  /// Starts it on the urgent stream, and waits until it runs.
  void start();
  /// Stops it. @return bytes copied (read and written once each) per second since the start
  [[nodiscard]] double stop();

 private:
  friend std::string check_stand_in();

  int blocks_;
  DeviceArray<char> from_;
  DeviceArray<char> to_;
  DeviceArray<unsigned long long> moved_;
  volatile int* flags_ = nullptr;  ///< pinned: [0] it runs, [1] it must stop
  Stream stream_;
  StreamTimer timer_;
};

/// Runs the stand-in for a moment and compares what it copied.
[[nodiscard]] std::string check_stand_in();

}  // namespace gradwire::calibration
