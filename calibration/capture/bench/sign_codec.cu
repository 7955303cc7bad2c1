#include <algorithm>
#include <cmath>

#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/kernels.cuh"

namespace gradwire::calibration {
namespace {

/// The loop's bound is the same for a whole warp, whose votes make a word.
__global__ void pack(const float* values, std::uint32_t* words, std::size_t count) {
  const std::size_t padded = (count + warp_threads - 1) / warp_threads * warp_threads;
  for (std::size_t i = thread_index(); i < padded; i += thread_count()) {
    const unsigned word = __ballot_sync(whole_warp, i < count && values[i] >= 0);
    if (i % warp_threads == 0) words[i / warp_threads] = word;
  }
}

__global__ void unpack(const std::uint32_t* words, const float* scale, float* values,
                       std::size_t count) {
  const float size = *scale;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    const bool positive = (words[i / warp_threads] >> (i % warp_threads) & 1U) != 0;
    values[i] = positive ? size : -size;
  }
}

/// error += gradient, and the sum of its magnitudes or squares.
__global__ void correct(const float* gradient, float* error, double* sum, bool squares,
                        std::size_t count) {
  float part = 0;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    const float value = gradient[i] + error[i];
    error[i] = value;
    part += squares ? value * value : fabsf(value);
  }
  add_of_block(part, sum);
}

__global__ void finish_scale(const double* sum, bool squares, std::size_t count, float* scale) {
  const double mean = *sum / static_cast<double>(count);
  *scale = static_cast<float>(squares ? sqrt(mean) : mean);
}

__global__ void subtract_signs(float* error, const float* scale, std::size_t count) {
  const float size = *scale;
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    error[i] -= error[i] >= 0 ? size : -size;
  }
}

/// One bit an element. Plain signSGD: the signs alone. With error feedback and in 1-bit Adam: the
/// error of the step before is added, the scale is a norm, and what is lost is kept; 1-bit Adam's
/// momentum itself belongs to its optimizer, and its second packing (of a chunk, for the
/// all-gather) is the same work on fewer elements.
class SignCodec final : public Codec {
 public:
  SignCodec(const CodecOptions& options, SignKind kind)
      : Codec(options),
        kind_(kind),
        error_(kind == SignKind::plain ? 1 : options.elements),
        words_((options.elements + warp_threads - 1) / warp_threads),
        sum_(1),
        scale_(1) {
    error_.store(std::vector<float>(error_.size(), 0));
    scale_.store({1.0F});
  }

  void encode(cudaStream_t stream) override {
    const unsigned blocks = grid_blocks(elements_);
    const bool squares = kind_ == SignKind::momentum;
    const float* values = gradient_.data();
    if (kind_ != SignKind::plain) {
      sum_.clear(stream);
      correct<<<blocks, block_threads, 0, stream>>>(gradient_.data(), error_.data(), sum_.data(),
                                                    squares, elements_);
      finish_scale<<<1, 1, 0, stream>>>(sum_.data(), squares, elements_, scale_.data());
      values = error_.data();
    }
    pack<<<blocks, block_threads, 0, stream>>>(values, words_.data(), elements_);
    if (kind_ != SignKind::plain) {
      subtract_signs<<<blocks, block_threads, 0, stream>>>(error_.data(), scale_.data(), elements_);
    }
    check_launch("sign codec");
  }
  void decode(cudaStream_t stream) override {
    unpack<<<grid_blocks(elements_), block_threads, 0, stream>>>(words_.data(), scale_.data(),
                                                                 restored_.data(), elements_);
    check_launch("unpack");
  }
  std::string check() override {
    constexpr double relative = 1e-4;  // a sum of floats, in another order
    run_once();
    const std::vector<float> gradient = gradient_.fetch();
    if (kind_ == SignKind::plain) {
      const auto words = reference::pack_signs(gradient);
      if (words_.fetch() != words) return "the signs differ";
      return compare("restored", restored_.fetch(), reference::unpack_signs(words, elements_, 1.0F),
                     0, 0);
    }
    const auto expected =
        reference::scaled_signs(gradient, std::vector<float>(elements_, 0),
                                kind_ == SignKind::momentum ? reference::SignScale::root_mean_square
                                                            : reference::SignScale::mean_magnitude);
    if (words_.fetch() != expected.words) return "the signs differ";
    std::string wrong = compare("scale", scale_.fetch(), {expected.scale}, relative, 0);
    if (wrong.empty()) {
      wrong = compare("error", error_.fetch(), expected.error, 0, relative * expected.scale);
    }
    if (!wrong.empty()) return wrong;
    return compare("restored", restored_.fetch(),
                   reference::unpack_signs(expected.words, elements_, expected.scale), relative, 0);
  }

 private:
  SignKind kind_;
  DeviceArray<float> error_;
  DeviceArray<std::uint32_t> words_;
  DeviceArray<double> sum_;
  DeviceArray<float> scale_;
};

}  // namespace

std::unique_ptr<Codec> make_sign_codec(const CodecOptions& options, SignKind kind) {
  return std::make_unique<SignCodec>(options, kind);
}

}  // namespace gradwire::calibration
