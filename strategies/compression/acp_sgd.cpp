#include "strategies/compression/acp_sgd.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t rank_max = 1 << 20;
/// torch.linalg.qr at any rank: acpsgd.py, _alternative_compress.
constexpr std::int64_t qr_from = 1;

}  // namespace

LowRankGroup acp_group(const std::vector<TensorInfo>& tensors, const std::vector<TensorId>& ids,
                       std::int64_t rank) {
  LowRankGroup group;
  for (const TensorId id : ids) {
    const TensorInfo& tensor = tensors[static_cast<std::size_t>(id)];
    if (tensor.shape.size() > 1) {
      group.matrices.push_back(matrix_of(tensor, rank));
    } else {
      group.raw += tensor.elements;
      ++group.raw_tensors;
    }
  }
  return group;
}

AcpSgd::AcpSgd(std::int64_t rank, const JobView& job) : rank_(rank), tensors_(job.tensors) {}

std::int64_t AcpSgd::read_rank(Knobs& knobs) {
  return knobs.count("rank", 4, 1, rank_max,
                     "acpsgd.py:357; its scripts take 4 for CNNs and 32 for BERT");
}

CompressorMaker AcpSgd::read(Knobs& knobs) {
  const std::int64_t rank = read_rank(knobs);
  return [rank](const JobView& job, CodecDevice /*device*/) {
    return std::make_unique<AcpSgd>(rank, job);
  };
}

Recipe AcpSgd::recipe(const TensorGroup& group) const {
  const LowRankGroup parts =
      group.whole ? acp_group(tensors_, group.tensors, rank_) : as_square(group.elements, rank_);
  const bool left = reduces_p(group.iteration);
  const std::int64_t factors = left ? parts.p_elements() : parts.q_elements();
  const Bytes matrices = fp32_size(parts.matrix_elements());
  const int count = static_cast<int>(parts.matrices.size());
  Recipe recipe;
  CodecRound round{.transfers = {{.size = fp32_size(factors + parts.raw)}}, .work = {}};
  if (count > 0) {
    // The other factor is made orthogonal, this one computed from M + E, the error kept.
    recipe.encode = {streaming("add error", 3 * matrices, count),
                     orthogonalise(parts, !left, qr_from),
                     products(parts, left ? "P = M Q" : "Q = M^T P"), products(parts, "P Q^T"),
                     streaming("keep error", 3 * matrices, count)};
    round.work = {products(parts, "M = P Q^T"), streaming("divide", 2 * matrices, count)};
  }
  if (parts.raw > 0) {
    const CodecWork copies = streaming("copy uncompressed", 2 * fp32_size(parts.raw),
                                       static_cast<int>(parts.raw_tensors));
    recipe.encode.push_back(copies);
    round.work.push_back(copies);
  }
  recipe.rounds = {std::move(round)};
  return recipe;
}

}  // namespace gradwire
