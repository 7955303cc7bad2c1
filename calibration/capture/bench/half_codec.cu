#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {
namespace {

__device__ void convert(float from, __half& to) {
  to = __float2half_rn(from);
}
__device__ void convert(float from, __nv_bfloat16& to) {
  to = __float2bfloat16_rn(from);
}
__device__ float widened(__half value) {
  return __half2float(value);
}
__device__ float widened(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class Half>
__global__ void narrow(const float* from, Half* to, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) convert(from[i], to[i]);
}

template <class Half>
__global__ void widen(const Half* from, float* to, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) to[i] = widened(from[i]);
}

/// A cast to two bytes and back, as DDP's fp16_compress_hook does around its all-reduce. (Its
/// division by the world size is a third kernel of half the bytes.)
template <class Half>
class HalfCodec final : public Codec {
 public:
  explicit HalfCodec(const CodecOptions& options, float (*reference)(float))
      : Codec(options), reference_(reference), narrow_(options.elements) {}

  void encode(cudaStream_t stream) override {
    narrow<<<grid_blocks(elements_), block_threads, 0, stream>>>(gradient_.data(), narrow_.data(),
                                                                 elements_);
    check_launch("narrow");
  }
  void decode(cudaStream_t stream) override {
    widen<<<grid_blocks(elements_), block_threads, 0, stream>>>(narrow_.data(), restored_.data(),
                                                                elements_);
    check_launch("widen");
  }
  std::string check() override {
    run_once();
    std::vector<float> expected = gradient_.fetch();
    std::transform(expected.begin(), expected.end(), expected.begin(), reference_);
    return compare("restored", restored_.fetch(), expected, 0, 0);
  }

 private:
  float (*reference_)(float);
  DeviceArray<Half> narrow_;
};

}  // namespace

std::unique_ptr<Codec> make_half_codec(const CodecOptions& options, bool bfloat) {
  if (bfloat) {
    return std::make_unique<HalfCodec<__nv_bfloat16>>(options, reference::through_bfloat16);
  }
  return std::make_unique<HalfCodec<__half>>(options, reference::through_half);
}

}  // namespace gradwire::calibration
