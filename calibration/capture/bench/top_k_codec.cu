#include <cmath>

#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/sparse_codec.cuh"

namespace gradwire::calibration {
namespace {

__global__ void add(const float* gradient, float* error, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) error[i] += gradient[i];
}

__global__ void begin(unsigned long long* counts) {
  counts[threadIdx.x] = 0;
}

/// Takes what is above the threshold, and as many of its equals as are wanted.
/// @param counts  [0] taken in all, [1] met at the threshold
/// @param error  not null: zero where taken
__global__ void take(const float* values, std::size_t elements, const SelectState* state,
                     float* taken, std::uint32_t* indexes, unsigned long long* counts,
                     float* error) {
  const std::uint32_t threshold = state->prefix;
  for (std::size_t i = thread_index(); i < elements; i += thread_count()) {
    const float value = values[i];
    const std::uint32_t bits = magnitude_bits(value);
    if (bits < threshold) continue;
    if (bits == threshold && atomicAdd(&counts[1], 1ULL) >= state->wanted) continue;
    const unsigned long long place = atomicAdd(&counts[0], 1ULL);
    taken[place] = value;
    indexes[place] = static_cast<std::uint32_t>(i);
    if (error != nullptr) error[i] = 0;
  }
}

/// The k largest magnitudes, exactly; with error feedback, of gradient + what was left before.
class TopKCodec final : public Codec {
 public:
  TopKCodec(const CodecOptions& options, bool error_feedback)
      : Codec(options),
        kept_(kept_of(options)),
        error_(error_feedback ? options.elements : 0),
        sparse_(kept_),
        counts_(2) {
    if (error_feedback) error_.store(std::vector<float>(elements_, 0));
  }

  void encode(cudaStream_t stream) override {
    const unsigned blocks = grid_blocks(elements_);
    const float* values = gradient_.data();
    float* error = error_.size() > 0 ? error_.data() : nullptr;
    if (error != nullptr) {
      add<<<blocks, block_threads, 0, stream>>>(gradient_.data(), error, elements_);
      values = error;
    }
    select_.launch(values, elements_, kept_, stream);
    begin<<<1, 2, 0, stream>>>(counts_.data());
    take<<<blocks, block_threads, 0, stream>>>(values, elements_, select_.state(),
                                               sparse_.values.data(), sparse_.indexes.data(),
                                               counts_.data(), error);
    check_launch("take");
    GRADWIRE_CUDA_CHECK(cudaMemcpyAsync(sparse_.count.data(), counts_.data(), sparse_.count.bytes(),
                                        cudaMemcpyDeviceToDevice, stream));
  }
  void decode(cudaStream_t stream) override { scatter(sparse_, restored_, stream); }

  std::string check() override {
    run_once();
    const std::vector<float> gradient = gradient_.fetch();
    std::string wrong = check_part(sparse_, restored_, gradient, kept_);
    if (!wrong.empty()) return wrong;
    const float threshold = reference::magnitude_threshold(gradient, kept_);
    for (const float value : sparse_.values.fetch()) {
      if (std::fabs(value) < threshold) return "a kept value is below the k-th largest";
    }
    if (error_.size() == 0) return {};
    std::vector<float> left = gradient;
    for (const std::uint32_t index : sparse_.indexes.fetch()) left[index] = 0;
    return compare("error", error_.fetch(), left, 0, 0);
  }

 private:
  std::size_t kept_;
  DeviceArray<float> error_;
  SparseBuffers sparse_;
  DeviceArray<unsigned long long> counts_;
  MagnitudeSelect select_;
};

}  // namespace

std::unique_ptr<Codec> make_top_k_codec(const CodecOptions& options, bool error_feedback) {
  return std::make_unique<TopKCodec>(options, error_feedback);
}

}  // namespace gradwire::calibration
