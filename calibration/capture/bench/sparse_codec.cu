#include "calibration/capture/bench/sparse_codec.cuh"

#include <numeric>

#include "calibration/capture/bench/compressor_reference.hpp"
#include "calibration/capture/bench/hash.hpp"

namespace gradwire::calibration {
namespace {

__global__ void scatter_add(const float* values, const std::uint32_t* indexes,
                            const unsigned long long* count, float* restored) {
  for (std::size_t i = thread_index(); i < *count; i += thread_count()) {
    atomicAdd(&restored[indexes[i]], values[i]);
  }
}

__global__ void gather_random(const float* gradient, std::size_t elements, std::uint32_t seed,
                              std::size_t kept, float* values, std::uint32_t* indexes,
                              unsigned long long* count) {
  for (std::size_t i = thread_index(); i < kept; i += thread_count()) {
    const std::uint32_t index = mixed(static_cast<std::uint32_t>(i) * 0x9e3779b9U + mixed(seed)) %
                                static_cast<std::uint32_t>(elements);
    indexes[i] = index;
    values[i] = gradient[index];
  }
  if (thread_index() == 0) *count = kept;
}

/// Random elements, with repeats, as BytePS's randomk draws them.
class RandomKCodec final : public Codec {
 public:
  explicit RandomKCodec(const CodecOptions& options)
      : Codec(options), kept_(kept_of(options)), sparse_(kept_) {}

  void encode(cudaStream_t stream) override {
    gather_random<<<grid_blocks(kept_), block_threads, 0, stream>>>(
        gradient_.data(), elements_, options_.seed, kept_, sparse_.values.data(),
        sparse_.indexes.data(), sparse_.count.data());
    check_launch("gather_random");
  }
  void decode(cudaStream_t stream) override { scatter(sparse_, restored_, stream); }

  std::string check() override {
    run_once();
    const auto indexes = reference::random_indexes(elements_, kept_, options_.seed);
    if (sparse_.indexes.fetch() != indexes) return "the indexes differ";
    const std::vector<float> gradient = gradient_.fetch();
    std::vector<float> expected(elements_, 0);
    for (const std::uint32_t index : indexes) expected[index] += gradient[index];
    return compare("restored", restored_.fetch(), expected, 1e-6, 0);
  }

 private:
  std::size_t kept_;
  SparseBuffers sparse_;
};

}  // namespace

void scatter(const SparseBuffers& sparse, const DeviceArray<float>& restored, cudaStream_t stream) {
  restored.clear(stream);
  scatter_add<<<grid_blocks(sparse.values.size()), block_threads, 0, stream>>>(
      sparse.values.data(), sparse.indexes.data(), sparse.count.data(), restored.data());
  check_launch("scatter_add");
}

std::string check_part(const SparseBuffers& sparse, const DeviceArray<float>& restored,
                       const std::vector<float>& dense, std::size_t expected_count) {
  const std::size_t count = sparse.count.fetch().at(0);
  if (count != expected_count) {
    return "count is " + std::to_string(count) + ", expected " + std::to_string(expected_count);
  }
  const std::vector<float> values = sparse.values.fetch();
  const std::vector<std::uint32_t> indexes = sparse.indexes.fetch();
  std::vector<float> expected(dense.size(), 0);
  std::vector<bool> seen(dense.size(), false);
  for (std::size_t i = 0; i < count; ++i) {
    if (indexes[i] >= dense.size() || seen[indexes[i]]) {
      return "index " + std::to_string(indexes[i]) + " is out of range or comes twice";
    }
    seen[indexes[i]] = true;
    if (values[i] != dense[indexes[i]]) return "a value is not that of its index";
    expected[indexes[i]] = values[i];
  }
  return compare("restored", restored.fetch(), expected, 0, 0);
}

std::unique_ptr<Codec> make_random_k_codec(const CodecOptions& options) {
  return std::make_unique<RandomKCodec>(options);
}

}  // namespace gradwire::calibration
