#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/compression/top_k.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// How the elements that are sent are chosen.
enum class Selection : std::uint8_t { topk, dgc, randomk };

struct SparsifierOptions {
  Selection selection = Selection::topk;
  double density = 0.001;  ///< share of the elements that is sent
  bool error_feedback = false;
  int warmup_steps = 0;    ///< DGC: optimizer steps at each density of its warm-up
  Seconds host_time{};     ///< for each element, of a host thread between selection and transfers
  Release pytorch{1, 12};  ///< whose torch.topk selects
};

/// A share of the elements travels, as values and indexes of 4 bytes each (dgc: indexes of 8): two
/// all-gathers, and
/// everyone adds everyone's k elements to a result that is cleared once. With error feedback the
/// residual is added before the selection: work beside the selection's, whether that was measured
/// or counted.
///
/// What an encoding of n elements reads and writes on a GPU, beside torch.topk (top_k.hpp):
/// topk: absolute values 8 bytes an element, the residual's copy 8, the mask's ones 4; three times
/// k elements by their index (compression.py:62-76). dgc: momentum and velocity 32, absolute values
/// 8, comparison with the threshold 5 and the indexes of what is above 2, both twice, torch.topk of
/// one element in a hundred; tensor by tensor (dgc/compression.py, _sparsify; dgc/memory.py).
/// randomk: k elements by their index.
/// A decoding: 4 n, and for each rank and element of its k: topk and randomk the index widened, the
/// result read, added to and written by index; dgc a sort by index and the same (index_put_ with
/// accumulate, dgc/compression.py, decompress).
///
/// Source: ddl-benchmarks, mgwfbp/compression.py:23-108 and hv_distributed_optimizer.py:540-544,
/// 608-626 (topk, ef_topk); Deep Gradient Compression (Lin et al., ICLR 2018): threshold from a
/// sample, momentum correction, warm-up of section 3.3 (dgc); BytePS
/// (docs/gradient-compression.md): k * (4 + 4) bytes a message (randomk, and all as messages).
class Sparsifier final : public Compressor {
 public:
  Sparsifier(const SparsifierOptions& options, const JobView& job, CodecDevice device);
  static CompressorMaker read_topk(Knobs& knobs);
  static CompressorMaker read_ef_topk(Knobs& knobs);
  static CompressorMaker read_dgc(Knobs& knobs);
  static CompressorMaker read_randomk(Knobs& knobs);

  [[nodiscard]] Recipe recipe(const TensorGroup& group) const override;
  [[nodiscard]] std::optional<Payload> payload(std::int64_t elements, int iteration) const override;
  [[nodiscard]] bool chained() const override {
    return pricing_.on_cpu() || options_.host_time > Seconds{};
  }
  [[nodiscard]] Phasing phasing() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;

 private:
  [[nodiscard]] std::int64_t kept(std::int64_t elements, int iteration) const;
  /// Appends the selection, and the error feedback if there is.
  void select(std::int64_t elements, std::int64_t kept, int tensors,
              std::vector<CodecWork>& work) const;
  [[nodiscard]] CodecWork selection(std::int64_t elements, std::int64_t kept, int tensors) const;
  [[nodiscard]] CodecWork scatter(std::int64_t elements, std::int64_t kept, int tensors,
                                  std::int64_t ranks) const;
  /// The gradients of a group that are coded one by one.
  [[nodiscard]] int coded_tensors(const TensorGroup& group) const;

  SparsifierOptions options_;
  Pricing pricing_;
  std::vector<TensorInfo> tensors_;
};

/// Device memory traffic of one element that kernels read or write where an index of 8 bytes says:
/// memory moves in sectors of 32 bytes.
constexpr std::int64_t indexed_traffic = 8 + 32;

/// Adding k values to a dense array by their index, as `array[index] += values` does: the index is
/// widened to 8 bytes, elements gathered, added, and put back; in four kernels.
constexpr std::int64_t indexed_sum_traffic =
    (4 + 8) + (indexed_traffic + 4) + 12 + (indexed_traffic + 32 + 4);
constexpr int indexed_sum_kernels = 4;

/// max(int(n * density), 1), as ddl-benchmarks counts it.
[[nodiscard]] std::int64_t kept_elements(std::int64_t elements, double density);

/// The knob `host_time` of gtopkssgd's systems: for each element of the gradients, whatever is
/// sent.
[[nodiscard]] Seconds read_host_time(Knobs& knobs);

/// The work that it stands for.
[[nodiscard]] CodecWork host_passes(std::int64_t elements, Seconds host_time);

/// The knob `density`.
[[nodiscard]] double read_density(Knobs& knobs, double fallback, const std::string& source);

}  // namespace gradwire
