#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibration/capture/bench/cuda_support.hpp"

namespace gradwire::calibration {

struct CodecOptions {
  std::size_t elements = 0;
  double density = 0.001;  ///< of what is kept (ddl-benchmarks; Lin et al. 2018: sparsity 99.9 %)
  int levels = 64;         ///< of QSGD, at most 127: int8 (GRACE, compressor/qsgd.py)
  int rank = 4;            ///< of low-rank factors (ACP-SGD and PowerSGD's paper)
  std::uint32_t seed = 1;
};

/// One compressor of gradients on the current GPU, with buffers of its own. Both calls only launch.
class Codec {
 public:
  explicit Codec(const CodecOptions& options);
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  Codec(Codec&&) = delete;
  Codec& operator=(Codec&&) = delete;
  virtual ~Codec() = default;

  /// What a rank does before it sends: from the gradient to what travels.
  virtual void encode(cudaStream_t stream) = 0;
  /// What it does with what came from one rank: to a dense gradient.
  virtual void decode(cudaStream_t stream) = 0;
  /// Encodes and decodes once and compares with the reference on the CPU
  /// (compressor_reference.hpp). REQUIRES: nothing was encoded before. @return what differs, ""
  /// when nothing does
  [[nodiscard]] virtual std::string check() = 0;

 protected:
  /// Encodes and decodes once on a stream of its own, to the end.
  void run_once();

  CodecOptions options_;
  std::size_t elements_;
  DeviceArray<float> gradient_;  ///< gradient_value(i, seed)
  DeviceArray<float> restored_;
};

/// Every compressor that has kernels, as scenarios name it.
[[nodiscard]] const std::vector<std::string>& codec_names();
/// @throws DeviceError where its library or memory is missing. REQUIRES: a name of codec_names().
[[nodiscard]] std::unique_ptr<Codec> make_codec(const std::string& name,
                                                const CodecOptions& options);

// The makers that codec_names() lists, one a file of kernels.
[[nodiscard]] std::unique_ptr<Codec> make_half_codec(const CodecOptions& options, bool bfloat);
enum class SignKind : std::uint8_t { plain, error_feedback, momentum };
[[nodiscard]] std::unique_ptr<Codec> make_sign_codec(const CodecOptions& options, SignKind kind);
[[nodiscard]] std::unique_ptr<Codec> make_quantise_codec(const CodecOptions& options);
[[nodiscard]] std::unique_ptr<Codec> make_top_k_codec(const CodecOptions& options,
                                                      bool error_feedback);
[[nodiscard]] std::unique_ptr<Codec> make_dgc_codec(const CodecOptions& options);
[[nodiscard]] std::unique_ptr<Codec> make_random_k_codec(const CodecOptions& options);
enum class LowRankKind : std::uint8_t { power_sgd, acp_sgd };
[[nodiscard]] std::unique_ptr<Codec> make_low_rank_codec(const CodecOptions& options,
                                                         LowRankKind kind);

/// "" when `value` is within `relative` of `expected` (or both are below `absolute`), else the two
/// with the place.
[[nodiscard]] std::string compare(const std::string& what, const std::vector<float>& values,
                                  const std::vector<float>& expected, double relative,
                                  double absolute);

}  // namespace gradwire::calibration
