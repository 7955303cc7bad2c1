#pragma once

#include "strategies/compression/pricing.hpp"
#include "strategies/knobs.hpp"

namespace gradwire {

/// How the elements that are sent are chosen.
enum class Selection : std::uint8_t { topk, dgc, randomk };

struct SparsifierOptions {
  Selection selection = Selection::topk;
  double density = 0.001;  ///< share of the elements that is sent
  bool error_feedback = false;
  int warmup_steps = 0;  ///< DGC: optimizer steps at each density of its warm-up
  Seconds host_time{};   ///< for each element, of a host thread between selection and transfers
};

/// A share of the elements travels, as values and indexes of 4 bytes each: two all-gathers, and
/// everyone adds everyone's to a dense result, one rank after the other. With error feedback the
/// residual is added before the selection, and what was not sent is kept after it: work beside the
/// selection's, whether that was measured or counted.
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
  void select(std::int64_t elements, std::int64_t kept, std::vector<CodecWork>& work) const;
  [[nodiscard]] CodecWork scatter(std::int64_t elements, std::int64_t kept,
                                  std::int64_t times) const;

  SparsifierOptions options_;
  Pricing pricing_;
};

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
