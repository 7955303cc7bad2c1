#include <cmath>

#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/hash.hpp"
#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {
namespace {

__global__ void add_squares(const float* values, double* sum, std::size_t count) {
  float part = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    part += values[i] * values[i];
  }
  add_of_block(part, sum);
}

__global__ void finish_norm(const double* sum, float* norm) {
  *norm = static_cast<float>(sqrt(*sum));
}

__global__ void quantise(const float* values, const float* norm, int levels, std::uint32_t seed,
                         std::int8_t* quantised, std::size_t count) {
  const float size = *norm;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    // Rounded as on the CPU, not contracted with the subtraction below.
    const float scaled =
        size > 0 ? __fmul_rn(fabsf(values[i]) / size, static_cast<float>(levels)) : 0;
    const float whole = floorf(scaled);
    const bool up = uniform(static_cast<std::uint32_t>(i), seed) < scaled - whole;
    const int level = static_cast<int>(whole) + (up ? 1 : 0);
    quantised[i] = static_cast<std::int8_t>(values[i] < 0 ? -level : level);
  }
}

__global__ void restore(const std::int8_t* quantised, const float* norm, int levels, float* values,
                        std::size_t count) {
  const float step = *norm / static_cast<float>(levels);
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    values[i] = step * static_cast<float>(quantised[i]);
  }
}

/// QSGD with an int8 an element and a norm, as GRACE sends it.
class QuantiseCodec final : public Codec {
 public:
  explicit QuantiseCodec(const CodecOptions& options)
      : Codec(options), sum_(1), norm_(1), quantised_(options.elements) {}

  void encode(cudaStream_t stream) override {
    sum_.clear(stream);
    add_squares<<<grid_blocks(elements_), block_threads, 0, stream>>>(gradient_.data(), sum_.data(),
                                                                      elements_);
    finish_norm<<<1, 1, 0, stream>>>(sum_.data(), norm_.data());
    quantise<<<grid_blocks(elements_), block_threads, 0, stream>>>(gradient_.data(), norm_.data(),
                                                                   options_.levels, options_.seed,
                                                                   quantised_.data(), elements_);
    check_launch("quantise");
  }
  void decode(cudaStream_t stream) override {
    restore<<<grid_blocks(elements_), block_threads, 0, stream>>>(
        quantised_.data(), norm_.data(), options_.levels, restored_.data(), elements_);
    check_launch("restore");
  }
  std::string check() override {
    constexpr double relative = 1e-4;  // a sum of floats, in another order
    run_once();
    const std::vector<float> gradient = gradient_.fetch();
    const std::vector<float> norm = norm_.fetch();
    const auto expected = reference::quantise(gradient, options_.levels, options_.seed);
    std::string wrong = compare("norm", norm, {expected.norm}, relative, 0);
    if (!wrong.empty()) return wrong;
    // By the kernel's own norm, whose last digits decide some of the roundings.
    const auto levels = reference::quantise_by(gradient, norm[0], options_.levels, options_.seed);
    if (quantised_.fetch() != levels) return "the levels differ";
    return compare("restored", restored_.fetch(),
                   reference::restore(levels, norm[0], options_.levels), 1e-6, 0);
  }

 private:
  DeviceArray<double> sum_;
  DeviceArray<float> norm_;
  DeviceArray<std::int8_t> quantised_;
};

}  // namespace

std::unique_ptr<Codec> make_quantise_codec(const CodecOptions& options) {
  return std::make_unique<QuantiseCodec>(options);
}

}  // namespace gradwire::calibration
