#include "strategies/compression/quantiser.hpp"

#include <algorithm>
#include <cmath>

#include "strategies/compression/corrections.hpp"

namespace gradwire {
namespace {

/// From here on GRACE's qsgd sends fp16 in place of int8.
constexpr std::int64_t int8_levels = 128;
constexpr std::int64_t norm_size = 4;
/// BytePS sends the norm and the size of the code with each partition.
constexpr std::int64_t elias_header = 8;
constexpr std::int64_t levels_max = 65'504;  ///< the largest fp16 number

// Bytes for each of n fp32 elements, beside the code, and kernels for each tensor, counted from the
// tensor operations of GRACE's qsgd.py: norm (4), absolute value (8), scaling (8), floor (8),
// random numbers (4), remainder (12), comparison with it (9), to float (5), sum (12), sign (8),
// product (12), to int16 (6), to the code (2); and back: to float (4), scaling (8), sum over ranks
// (12).
constexpr std::int64_t quantise_traffic = 98;
constexpr int quantise_kernels = 15;
constexpr std::int64_t restore_traffic = 24;
constexpr int restore_kernels = 4;

}  // namespace

Bytes elias_coded(std::int64_t elements, std::int64_t levels) {
  const auto n = static_cast<double>(elements);
  const auto s = static_cast<double>(levels);
  const double nonzero = s * (s + std::sqrt(n));
  const double bits = (3 + 1.5 * std::log2(2 * (s * s + n) / nonzero)) * nonzero + 32;
  return Bytes{static_cast<std::int64_t>(std::ceil(std::min(bits, 32 * n) / 8))};
}

Quantiser::Quantiser(Coding coding, std::int64_t levels, const JobView& job, CodecDevice device,
                     bool error_feedback)
    : coding_(coding),
      levels_(levels),
      error_feedback_(error_feedback),
      pricing_(coding == Coding::fixed ? "qsgd" : "dithering", device, job) {}

CompressorMaker Quantiser::read_qsgd(Knobs& knobs) {
  const auto levels =
      knobs.count("quantum_num", 127, 1, levels_max, "GRACE, helper.py: quantum_num 127");
  return [levels](const JobView& job, CodecDevice device) {
    return std::make_unique<Quantiser>(Coding::fixed, levels, job, device);
  };
}

CompressorMaker Quantiser::read_dithering(Knobs& knobs) {
  const auto levels = knobs.count("k", 4, 1, levels_max,
                                  "BytePS compressor_k: levels; it has no default, 4 is assumed");
  const bool feedback = knobs.yes("error_feedback", false, "BytePS: ef is optional");
  return [levels, feedback](const JobView& job, CodecDevice device) {
    return std::make_unique<Quantiser>(Coding::elias, levels, job, device, feedback);
  };
}

Bytes Quantiser::coded(std::int64_t elements, std::int64_t tensors) const {
  if (coding_ == Coding::elias) return elias_coded(elements, levels_) + Bytes{elias_header};
  return Bytes{elements * (levels_ < int8_levels ? 1 : 2) + tensors * norm_size};
}

CodecWork Quantiser::quantise(std::int64_t elements, Bytes coded, int tensors) const {
  return pricing_.encode(elements, streaming("quantise", Bytes{quantise_traffic * elements} + coded,
                                             tensors * quantise_kernels));
}

CodecWork Quantiser::restore(std::int64_t elements, Bytes coded, int tensors,
                             std::int64_t times) const {
  return pricing_.decode(elements,
                         streaming("restore", times * (Bytes{restore_traffic * elements} + coded),
                                   static_cast<int>(times) * tensors * restore_kernels),
                         times);
}

Recipe Quantiser::recipe(const TensorGroup& group) const {
  const int tensors = static_cast<int>(group.tensors.size());
  const Bytes size = coded(group.elements, tensors);
  Recipe recipe;
  pricing_.fetch(group.elements, recipe.encode);
  recipe.encode.push_back(quantise(group.elements, size, tensors));
  if (error_feedback_)
    recipe.encode.push_back(error_feedback(group.elements, pricing_.device(), pricing_.sum_rate()));
  CodecRound round{.transfers = {{.kind = CollectiveKind::all_gather, .size = group.ranks * size}},
                   .work = {restore(group.elements, size, tensors, group.ranks)}};
  pricing_.store(group.elements, round.work);
  round.work.push_back(streaming("divide", 2 * fp32_size(group.elements), 1));
  recipe.rounds = {std::move(round)};
  return recipe;
}

std::optional<Payload> Quantiser::payload(std::int64_t elements, int /*iteration*/) const {
  const Bytes size = coded(elements, 1);
  Payload payload{.size = size,
                  .encode = {quantise(elements, size, 1)},
                  .decode = {restore(elements, size, 1, 1)}};
  if (error_feedback_)
    payload.encode.push_back(error_feedback(elements, pricing_.device(), pricing_.sum_rate()));
  return payload;
}

std::vector<CollectiveUse> Quantiser::collectives() const {
  return {{CollectiveKind::all_gather}};
}

}  // namespace gradwire
