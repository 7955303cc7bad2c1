#include "calibration/capture/bench/compute.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>

#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/bench/hash.hpp"

namespace gradwire::calibration {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffffU;

/// Blocks for a loop with the grid's stride over `count` items: enough to fill the largest GPU of
/// today several times (132 SMs, 8 blocks of 256 threads each), no more.
unsigned grid_blocks(std::size_t count) {
  constexpr std::size_t blocks_max = 4096;
  return static_cast<unsigned>(
      std::clamp<std::size_t>((count + block_threads - 1) / block_threads, 1, blocks_max));
}

__device__ std::size_t thread_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t thread_count() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

/// Adds a value of each thread of the block to *sum. Every thread must come here.
__device__ void add_of_block(float value, double* sum) {
  __shared__ float parts[block_threads / warp_threads];
  for (unsigned offset = warp_threads / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(whole_warp, value, offset);
  }
  if (threadIdx.x % warp_threads == 0) parts[threadIdx.x / warp_threads] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (const float part : parts) total += part;
    atomicAdd(sum, total);
  }
}

/// A launch's own error, which no later call would name.
void check_launch(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

constexpr unsigned stand_in_threads = 640;
/// Between two looks at the flag, and of each block's own region of both buffers: far more than the
/// caches hold when 16 blocks run.
constexpr std::size_t chunk_bytes = 512UL << 10;
constexpr std::size_t region_bytes = 16UL << 20;
constexpr float norm_epsilon = 1e-5F;  // torch.nn.BatchNorm2d

__global__ void fill(float* values, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    values[i] = uniform(static_cast<std::uint32_t>(i), 5) - 0.5F;
  }
}

__global__ void relu(const float* from, float* to, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) to[i] = fmaxf(from[i], 0);
}

/// A block a channel: sums of values and squares over images and pixels.
__global__ void channel_sums(const float* values, double* sums, int images, int channels,
                             int pixels) {
  const int channel = static_cast<int>(blockIdx.x);
  float sum = 0;
  float squares = 0;
  for (int image = 0; image < images; ++image) {
    const float* plane = values + (static_cast<std::size_t>(image) * channels + channel) * pixels;
    for (int pixel = static_cast<int>(threadIdx.x); pixel < pixels;
         pixel += static_cast<int>(blockDim.x)) {
      sum += plane[pixel];
      squares += plane[pixel] * plane[pixel];
    }
  }
  add_of_block(sum, &sums[2 * channel]);
  __syncthreads();
  add_of_block(squares, &sums[2 * channel + 1]);
}

__global__ void normalise(const float* from, float* to, const double* sums, int channels,
                          int pixels, double samples, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    const std::size_t channel = i / static_cast<std::size_t>(pixels) % channels;
    const auto mean = static_cast<float>(sums[2 * channel] / samples);
    const auto square = static_cast<float>(sums[2 * channel + 1] / samples);
    to[i] = (from[i] - mean) * rsqrtf(square - mean * mean + norm_epsilon);
  }
}

__global__ void __launch_bounds__(stand_in_threads)
    copy_until_stopped(const uint4* from, uint4* to, volatile int* flags,
                       unsigned long long* moved) {
  constexpr std::size_t region = region_bytes / sizeof(uint4);
  constexpr std::size_t chunk = chunk_bytes / sizeof(uint4);
  __shared__ int stop;
  const std::size_t first = blockIdx.x * region;
  unsigned long long chunks = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    flags[0] = 1;
    __threadfence_system();
  }
  for (std::size_t offset = 0;; offset = (offset + chunk) % region) {
    if (threadIdx.x == 0) stop = flags[1];
    __syncthreads();
    if (stop != 0) break;
    for (std::size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
      to[first + offset + i] = from[first + offset + i];
    }
    ++chunks;
    __syncthreads();  // nobody reads the next `stop` before all have read this one
  }
  if (threadIdx.x == 0) atomicAdd(moved, chunks * chunk_bytes);
}

class Elementwise final : public Compute {
 public:
  Elementwise() : from_(count), to_(count) {
    fill<<<grid_blocks(count), block_threads>>>(from_.data(), count);
    check_launch("fill");
    GRADWIRE_CUDA_CHECK(cudaDeviceSynchronize());
  }
  void launch(cudaStream_t stream) override {
    relu<<<grid_blocks(count), block_threads, 0, stream>>>(from_.data(), to_.data(), count);
    check_launch("relu");
  }
  std::string check() override {
    const Stream stream;
    launch(stream.get());
    stream.wait();
    const std::vector<float> values = to_.fetch();
    for (std::size_t i = 0; i < count; ++i) {
      const float expected = std::fmax(uniform(static_cast<std::uint32_t>(i), 5) - 0.5F, 0.0F);
      if (values[i] != expected) return "element " + std::to_string(i) + " differs";
    }
    return {};
  }

 private:
  static constexpr std::size_t count = 64UL << 20;
  DeviceArray<float> from_;
  DeviceArray<float> to_;
};

class Normalise final : public Compute {
 public:
  Normalise() : from_(count), to_(count), sums_(2UL * channels) {
    fill<<<grid_blocks(count), block_threads>>>(from_.data(), count);
    check_launch("fill");
    GRADWIRE_CUDA_CHECK(cudaDeviceSynchronize());
  }
  void launch(cudaStream_t stream) override {
    sums_.clear(stream);
    channel_sums<<<channels, block_threads, 0, stream>>>(from_.data(), sums_.data(), images,
                                                         channels, pixels);
    normalise<<<grid_blocks(count), block_threads, 0, stream>>>(
        from_.data(), to_.data(), sums_.data(), channels, pixels, samples, count);
    check_launch("normalise");
  }
  std::string check() override {
    const Stream stream;
    launch(stream.get());
    stream.wait();
    const std::vector<float> values = to_.fetch();
    constexpr int channel = 7;
    const auto index = [](int image, int pixel) {
      return (static_cast<std::size_t>(image) * channels + channel) * pixels +
             static_cast<std::size_t>(pixel);
    };
    double sum = 0;
    double squares = 0;
    for (int image = 0; image < images; ++image) {
      for (int pixel = 0; pixel < pixels; ++pixel) {
        const double value = values[index(image, pixel)];
        sum += value;
        squares += value * value;
      }
    }
    // What is normalised has mean 0 and variance 1 (but for epsilon); sums of floats are near.
    constexpr double tolerance = 1e-3;
    if (std::fabs(sum / samples) > tolerance || std::fabs(squares / samples - 1) > tolerance) {
      return "mean " + std::to_string(sum / samples) + ", variance " +
             std::to_string(squares / samples);
    }
    return {};
  }

 private:
  static constexpr int images = 64;
  static constexpr int channels = 256;
  static constexpr int pixels = 56 * 56;
  static constexpr double samples = static_cast<double>(images) * pixels;
  static constexpr std::size_t count = std::size_t{images} * channels * pixels;
  DeviceArray<float> from_;
  DeviceArray<float> to_;
  DeviceArray<double> sums_;
};

}  // namespace

std::unique_ptr<Compute> make_elementwise() {
  return std::make_unique<Elementwise>();
}

std::unique_ptr<Compute> make_normalise() {
  return std::make_unique<Normalise>();
}

StandIn::StandIn(int blocks)
    : blocks_(blocks),
      from_(static_cast<std::size_t>(blocks) * region_bytes),
      to_(static_cast<std::size_t>(blocks) * region_bytes),
      moved_(1),
      stream_(true) {
  void* flags = nullptr;
  GRADWIRE_CUDA_CHECK(cudaHostAlloc(&flags, 2 * sizeof(int), cudaHostAllocMapped));
  flags_ = static_cast<volatile int*>(flags);
  from_.clear(stream_.get());
  stream_.wait();
}

StandIn::~StandIn() {
  flags_[1] = 1;
  cudaStreamSynchronize(stream_.get());
  cudaFreeHost(const_cast<int*>(flags_));
}

void StandIn::start() {
  constexpr std::chrono::seconds patience{10};
  flags_[0] = 0;
  flags_[1] = 0;
  moved_.clear(stream_.get());
  timer_.start(stream_.get());
  copy_until_stopped<<<blocks_, stand_in_threads, 0, stream_.get()>>>(
      reinterpret_cast<const uint4*>(from_.data()), reinterpret_cast<uint4*>(to_.data()), flags_,
      moved_.data());
  timer_.stop(stream_.get());
  check_launch("copy_until_stopped");
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (flags_[0] == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw DeviceError("the stand-in copy kernel does not start");
    }
    std::this_thread::yield();
  }
}

double StandIn::stop() {
  flags_[1] = 1;
  const double taken_us = timer_.elapsed_us();
  return static_cast<double>(moved_.fetch().at(0)) / taken_us * 1e6;
}

std::string check_stand_in() {
  StandIn stand_in(2);
  stand_in.from_.store(std::vector<char>(stand_in.from_.size(), '\5'));
  stand_in.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double rate = stand_in.stop();
  if (!(rate > 0)) return "it copied nothing";
  for (const char value : stand_in.to_.fetch()) {
    if (value != '\5') return "it copied something else, or not all";
  }
  return {};
}

}  // namespace gradwire::calibration
