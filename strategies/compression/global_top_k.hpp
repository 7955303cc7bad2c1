#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/release.hpp"

namespace gradwire {

/// The k largest elements of the sum, kept along a binary tree: in round i of log2 P each second
/// remaining rank sends its k values and indexes (8k bytes, host to host) to its neighbour, which
/// merges them and chooses again on its CPU; all wait for each other after a round; then rank 0's
/// go back down a tree. Where P is no power of two, a rank without a neighbour sits a round out
/// (the original has powers of two only).
///
/// One rank alone registers its hooks and selects as well (distributed_optimizer.py,
/// _register_hooks; allreducer.py, run), with no rounds: all k elements are copied to the host and
/// back. (ddl-benchmarks' top-k leaves one rank alone: strategies/compression/systems.hpp.)
///
/// An encoding of n elements reads and writes, beside torch.topk (top_k.hpp), 32 bytes an element:
/// the residual added 12, absolute values 8, the residual's copy 8, the mask 4; a decoding 4 n and
/// k elements by their index.
///
/// Source: gTop-k S-SGD (Shi et al., ICDCS 2019); hclhkbu/gtopkssgd, allreducer.py:71-163: numpy on
/// CPU buffers, mpi4py, indexes sent as floats.
class GlobalTopK final : public Compressor {
 public:
  /// @param host_time  see read_host_time.
  GlobalTopK(double density, const JobView& job, CodecDevice device, Seconds host_time = {},
             Release pytorch = {1, 12});
  static CompressorMaker read(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] bool chained() const override { return true; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override;

 private:
  double density_;
  Seconds host_time_;
  Release pytorch_;
  Pricing pricing_;
  int ranks_;
  int rounds_;
  BytesPerSecond host_copy_;
  Seconds latency_;
};

}  // namespace gradwire
