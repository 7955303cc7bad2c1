#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// How the signs of all ranks become one.
enum class Vote : std::uint8_t {
  all_gather,  ///< each rank gathers everyone's signs and adds them up
  rank0,       ///< machine leaders send theirs to rank 0 in turn, which sends the majority back
};

struct SignOptions {
  bool error_feedback = false;
  Vote vote = Vote::all_gather;
};

/// One bit an element, packed 32 to an int32: ceil(n/32) * 4 bytes.
///
/// Source: ddl-benchmarks, mgwfbp/compression.py:111-207 and hv_distributed_optimizer.py:614-626
/// (all_gather: the sum of signs over ranks, no vote); signSGD with majority vote,
/// main/Signum_SGD.py:127-166 (rank0: with one machine nothing is packed or sent); with
/// error_feedback, EF-SignSGD (Karimireddy et al., ICML 2019). As a message: BytePS's onebit, with
/// a scale of 4 bytes (docs/gradient-compression.md).
///
/// Packing n elements on a GPU reads and writes 67 bytes each in 164 kernels, with error feedback
/// 91 in 166; unpacking and adding a rank's 68 in 103 (sign.cpp). The originals' benchmark
/// takes 3.42 and 1.84 ms for 10^6 elements on a V100: 21 and 18 us a kernel, the host's time to
/// launch it.
class SignCompressor final : public Compressor {
 public:
  SignCompressor(const SignOptions& options, const JobView& job, CodecDevice device);
  static CompressorMaker read_sign(Knobs& knobs);
  static CompressorMaker read_error_feedback(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] std::optional<Payload> payload(std::int64_t elements, int iteration) const override;
  [[nodiscard]] bool chained() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;

 private:
  [[nodiscard]] CodecWork pack(std::int64_t elements) const;
  [[nodiscard]] CodecWork unpack(std::int64_t elements, std::int64_t times) const;
  [[nodiscard]] Recipe voted(const TensorGroup& group) const;

  SignOptions options_;
  Pricing pricing_;
  std::vector<int> leaders_;  ///< the first rank of each machine
  int machines_;
};

/// Bytes of `elements` signs.
[[nodiscard]] Bytes packed_signs(std::int64_t elements);

}  // namespace gradwire
