#include <cmath>

#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/sparse_codec.cuh"

namespace gradwire::calibration {
namespace {

constexpr float momentum = 0.9F;            // of the optimizer; Lin et al. 2018, section 4
constexpr std::size_t sample_stride = 100;  // 1 % of the elements; Lin et al. 2018, section 3
/// A sampled threshold lets through more or fewer than asked for; room for all is kept.

__global__ void correct(const float* gradient, float* u, float* v, std::size_t count) {
  for (std::size_t i = thread_index(); i < count; i += thread_count()) {
    u[i] = momentum * u[i] + gradient[i];
    v[i] += u[i];
  }
}

__global__ void sample(const float* v, float* sampled, std::size_t samples) {
  for (std::size_t i = thread_index(); i < samples; i += thread_count()) {
    sampled[i] = v[i * sample_stride];
  }
}

/// Takes what reaches the threshold, and clears momentum and velocity there.
__global__ void take(float* u, float* v, std::size_t elements, const SelectState* state,
                     float* taken, std::uint32_t* indexes, unsigned long long* count) {
  const std::uint32_t threshold = state->prefix;
  for (std::size_t i = thread_index(); i < elements; i += thread_count()) {
    const float value = v[i];
    if (magnitude_bits(value) < threshold) continue;
    const unsigned long long place = atomicAdd(count, 1ULL);
    taken[place] = value;
    indexes[place] = static_cast<std::uint32_t>(i);
    u[i] = 0;
    v[i] = 0;
  }
}

/// Deep Gradient Compression: momentum correction, the threshold from a sample of every 100th
/// element, one pass that takes what reaches it. (The paper selects a second time where far too
/// many pass; on gradients like ours that does not happen, and it is not here.)
class DgcCodec final : public Codec {
 public:
  explicit DgcCodec(const CodecOptions& options)
      : Codec(options),
        u_(options.elements),
        v_(options.elements),
        samples_((options.elements + sample_stride - 1) / sample_stride),
        sampled_(samples_),
        sparse_(options.elements) {
    u_.store(std::vector<float>(elements_, 0));
    v_.store(std::vector<float>(elements_, 0));
  }

  void encode(cudaStream_t stream) override {
    const unsigned blocks = grid_blocks(elements_);
    correct<<<blocks, block_threads, 0, stream>>>(gradient_.data(), u_.data(), v_.data(),
                                                  elements_);
    sample<<<grid_blocks(samples_), block_threads, 0, stream>>>(v_.data(), sampled_.data(),
                                                                samples_);
    select_.launch(sampled_.data(), samples_, kept_of_sample(), stream);
    sparse_.count.clear(stream);
    take<<<blocks, block_threads, 0, stream>>>(u_.data(), v_.data(), elements_, select_.state(),
                                               sparse_.values.data(), sparse_.indexes.data(),
                                               sparse_.count.data());
    check_launch("dgc");
  }
  void decode(cudaStream_t stream) override { scatter(sparse_, restored_, stream); }

  std::string check() override {
    run_once();
    // The first step: u = v = gradient, in the kernel too (0.9 * 0 + g is exact).
    std::vector<float> u(elements_, 0);
    std::vector<float> v(elements_, 0);
    reference::correct_momentum(gradient_.fetch(), momentum, u, v);
    const float threshold =
        reference::magnitude_threshold(reference::sample_of(v, sample_stride), kept_of_sample());
    std::size_t expected = 0;
    std::vector<float> left = v;
    for (float& value : left) {
      if (std::fabs(value) < threshold) continue;
      ++expected;
      value = 0;
    }
    std::string wrong = check_part(sparse_, restored_, v, expected);
    if (wrong.empty()) wrong = compare("v", v_.fetch(), left, 0, 0);
    return wrong.empty() ? compare("u", u_.fetch(), left, 0, 0) : wrong;
  }

 private:
  [[nodiscard]] std::size_t kept_of_sample() const {
    CodecOptions of_sample = options_;
    of_sample.elements = samples_;
    return kept_of(of_sample);
  }

  DeviceArray<float> u_;
  DeviceArray<float> v_;
  std::size_t samples_;
  DeviceArray<float> sampled_;
  SparseBuffers sparse_;
  MagnitudeSelect select_;
};

}  // namespace

std::unique_ptr<Codec> make_dgc_codec(const CodecOptions& options) {
  return std::make_unique<DgcCodec>(options);
}

}  // namespace gradwire::calibration
