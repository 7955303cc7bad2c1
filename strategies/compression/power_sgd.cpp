#include "strategies/compression/power_sgd.hpp"

#include <limits>

namespace gradwire {
namespace {

constexpr std::int64_t rank_max = 1 << 20;
constexpr std::int64_t rate_max = 1'000'000;

/// Transfers of what there is; an empty list where there is nothing.
std::vector<Transfer> all_reduce(const char* part, std::int64_t elements) {
  if (elements == 0) return {};
  return {{.part = part, .size = fp32_size(elements)}};
}

}  // namespace

PowerSgd::PowerSgd(const PowerSgdOptions& options, const JobView& job)
    : options_(options), tensors_(job.tensors) {}

PowerSgdOptions PowerSgd::read_options(Knobs& knobs) {
  static const std::string origin = "powerSGD_hook.py, PowerSGDState";
  PowerSgdOptions options;
  options.matrix_approximation_rank =
      knobs.count("matrix_approximation_rank", 1, 1, rank_max, origin);
  options.start_iteration = static_cast<int>(
      knobs.count("start_powerSGD_iter", 10, 0, std::numeric_limits<int>::max(), origin));
  options.min_compression_rate =
      static_cast<double>(knobs.count("min_compression_rate", 2, 0, rate_max, origin));
  options.use_error_feedback = knobs.yes("use_error_feedback", true, origin);
  options.batched = knobs.yes("batched", false, "powerSGD_hook.py, batched_powerSGD_hook");
  return options;
}

CompressorMaker PowerSgd::read(Knobs& knobs) {
  const PowerSgdOptions options = read_options(knobs);
  return [options](const JobView& job, CodecDevice /*device*/) {
    return std::make_unique<PowerSgd>(options, job);
  };
}

LowRankGroup PowerSgd::parted(const TensorGroup& group) const {
  if (options_.batched || !group.whole) {
    return as_square(group.elements, options_.matrix_approximation_rank);
  }
  LowRankGroup parted;
  for (const TensorId id : group.tensors) {
    const TensorInfo& tensor = tensors_[static_cast<std::size_t>(id)];
    const MatrixView matrix = matrix_of(tensor, options_.matrix_approximation_rank);
    const auto factors = static_cast<double>((matrix.rows + matrix.columns) * matrix.rank);
    if (factors * options_.min_compression_rate < static_cast<double>(tensor.elements)) {
      parted.matrices.push_back(matrix);
    } else {
      parted.raw += tensor.elements;
      ++parted.raw_tensors;
    }
  }
  return parted;
}

Recipe PowerSgd::recipe(const TensorGroup& group) const {
  const CodecWork divided = streaming("divide", 2 * fp32_size(group.elements), 1);
  if (group.iteration < options_.start_iteration) {
    return {.encode = {},
            .rounds = {{.transfers = {{.size = fp32_size(group.elements)}}, .work = {divided}}}};
  }
  const LowRankGroup parts = parted(group);
  const bool matrices = !parts.matrices.empty();
  Recipe recipe;
  recipe.holds_compute = options_.hook;  // decompress() synchronises with the device
  if (options_.use_error_feedback) {     // add the error, keep a copy
    recipe.encode.push_back(streaming("add error", 5 * fp32_size(group.elements), 2));
  }
  if (parts.raw > 0) {
    recipe.encode.push_back(streaming("gather uncompressed", 2 * fp32_size(parts.raw), 1));
  }
  if (matrices) {
    // Warm start: the Q's of the last iteration.
    recipe.encode.push_back(orthogonalise(parts, false, options_.qr_from));
    recipe.encode.push_back(products(parts, "P = M Q"));
  }
  const CodecWork unpacked = streaming("unpack uncompressed", 4 * fp32_size(parts.raw),
                                       1 + static_cast<int>(parts.raw_tensors));
  CodecRound first{.transfers = all_reduce("uncompressed", parts.raw), .work = {}};
  CodecRound second{.transfers = all_reduce("P", parts.p_elements()), .work = {}};
  CodecRound third{.transfers = all_reduce("Q", parts.q_elements()), .work = {}};
  if (parts.raw > 0) (options_.hook ? first : second).work = {unpacked};
  if (!options_.hook) {
    second.transfers.insert(second.transfers.end(), first.transfers.begin(), first.transfers.end());
    first = {};
  }
  if (matrices) {
    second.work.push_back(orthogonalise(parts, true, options_.qr_from));
    second.work.push_back(products(parts, "Q = M^T P"));
    third.work = {streaming("divide Q", 2 * fp32_size(parts.q_elements()), 1),
                  products(parts, "M = P Q^T")};
  }
  if (options_.use_error_feedback) {
    third.work.push_back(streaming("keep error", 3 * fp32_size(group.elements), 1));
  }
  recipe.rounds = {std::move(first), std::move(second), std::move(third)};
  std::erase_if(recipe.rounds, [](const CodecRound& round) {
    return round.transfers.empty() && round.work.empty();
  });
  return recipe;
}

}  // namespace gradwire
