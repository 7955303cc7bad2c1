#include "strategies/compression/sign.hpp"

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t signs_in_word = 32;
constexpr std::int64_t word_size = 4;
/// The mean of absolute values that goes with the signs of a message.
constexpr std::int64_t scale_size = 4;

// Kernels, and bytes for each of n fp32 elements and for each row of ceil(n/32) int32, counted from
// ddl-benchmarks' compression.py:118-162 and bit2byte.cpp of signSGD with majority vote
// (main/bit2byte-extension), whose packing walks over the 32 rows one by one, in place.
// Packing: sign (8), copy into the padded tensor (8), cast to int32 (8). The first row is shifted
// and masked (8 each); for each other the result is shifted and masked, the row is shifted, masked
// and joined to it (8, 8, 8, 8, 12).
constexpr std::int64_t packed_rows = 32;
constexpr std::int64_t pack_traffic = 24;
constexpr std::int64_t pack_row_traffic = std::int64_t{2} * 8 + (packed_rows - 1) * (4 * 8 + 12);
constexpr int pack_kernels = 7 + 2 + (packed_rows - 1) * 5;
// Unpacking: ones (4); each row joined with the words (12) and shifted (8), the words shifted (8);
// less one (8), negated (8), to float (8), added to the result (12).
constexpr std::int64_t unpack_traffic = 40;
constexpr std::int64_t unpack_row_traffic = packed_rows * (12 + 8 + 8);
constexpr int unpack_kernels = 3 + packed_rows * 3 + 4;
/// The residual is added before (3), and what was not sent is kept after (3).
constexpr int feedback_passes = 6;
constexpr int feedback_kernels = 2;

}  // namespace

Bytes packed_signs(std::int64_t elements) {
  return Bytes{(elements + signs_in_word - 1) / signs_in_word * word_size};
}

SignCompressor::SignCompressor(const SignOptions& options, const JobView& job, CodecDevice device)
    : options_(options),
      pricing_(options.error_feedback ? "ef_signsgd" : "signsgd", device, job),
      leaders_(first_ranks(job)),
      machines_(job.machines) {}

CompressorMaker SignCompressor::read_sign(Knobs& knobs) {
  static const std::vector<std::string> votes = {"all_gather", "rank0"};
  const std::string vote = knobs.choice(
      "vote", "all_gather", votes,
      "all_gather: ddl-benchmarks, the sum of signs; rank0: Signum_SGD.py, the majority");
  const SignOptions options{.vote = vote == "rank0" ? Vote::rank0 : Vote::all_gather};
  return [options](const JobView& job, CodecDevice device) {
    return std::make_unique<SignCompressor>(options, job, device);
  };
}

CompressorMaker SignCompressor::read_error_feedback(Knobs& /*knobs*/) {
  return [](const JobView& job, CodecDevice device) {
    return std::make_unique<SignCompressor>(SignOptions{.error_feedback = true}, job, device);
  };
}

CodecWork SignCompressor::pack(std::int64_t elements) const {
  const std::int64_t row = (elements + packed_rows - 1) / packed_rows;
  const Bytes feedback = (options_.error_feedback ? feedback_passes : 0) * fp32_size(elements);
  const int kernels = pack_kernels + (options_.error_feedback ? feedback_kernels : 0);
  return pricing_.encode(
      elements,
      streaming("pack signs", Bytes{pack_traffic * elements + pack_row_traffic * row} + feedback,
                kernels));
}

CodecWork SignCompressor::unpack(std::int64_t elements, std::int64_t times) const {
  const std::int64_t row = (elements + packed_rows - 1) / packed_rows;
  const Bytes one{unpack_traffic * elements + unpack_row_traffic * row};
  return pricing_.decode(
      elements, streaming("unpack signs", times * one, static_cast<int>(times) * unpack_kernels),
      times);
}

Recipe SignCompressor::voted(const TensorGroup& group) const {
  if (machines_ == 1) return {};
  const Bytes packed = packed_signs(group.elements);
  Recipe recipe;
  pricing_.fetch(group.elements, recipe.encode);
  recipe.encode.push_back(pack(group.elements));
  // Rank 0 takes the vectors apart, one by one, and packs the majority.
  CodecWork vote = unpack(group.elements, machines_);
  vote.label = "majority vote";
  CodecWork result = pack(group.elements);
  result.label = "pack majority";
  recipe.rounds = {{.transfers = {{.part = "to rank 0", .size = packed, .exchange = 0}},
                    .work = {std::move(vote), std::move(result)}},
                   {.transfers = {{.part = "majority",
                                   .kind = CollectiveKind::broadcast,
                                   .size = packed,
                                   .leaders = true}},
                    .work = {unpack(group.elements, 1)}}};
  pricing_.store(group.elements, recipe.rounds.back().work);
  return recipe;
}

Recipe SignCompressor::recipe(const TensorGroup& group) const {
  if (options_.vote == Vote::rank0) return voted(group);
  Recipe recipe;
  pricing_.fetch(group.elements, recipe.encode);
  recipe.encode.push_back(pack(group.elements));
  CodecRound round{.transfers = {{.kind = CollectiveKind::all_gather,
                                  .size = static_cast<std::int64_t>(group.ranks) *
                                          packed_signs(group.elements)}},
                   .work = {unpack(group.elements, group.ranks)}};
  pricing_.store(group.elements, round.work);
  round.work.push_back(streaming("divide", 2 * fp32_size(group.elements), 1));
  recipe.rounds = {std::move(round)};
  return recipe;
}

std::optional<Payload> SignCompressor::payload(std::int64_t elements, int /*iteration*/) const {
  return Payload{.size = packed_signs(elements) + Bytes{scale_size},
                 .encode = {pack(elements)},
                 .decode = {unpack(elements, 1)}};
}

bool SignCompressor::chained() const {
  return options_.vote == Vote::rank0 || pricing_.on_cpu();
}

std::vector<CollectiveUse> SignCompressor::collectives() const {
  if (options_.vote == Vote::all_gather) return {{CollectiveKind::all_gather}};
  return {{CollectiveKind::broadcast, families::leaders}};
}

std::vector<Exchange> SignCompressor::exchanges() const {
  if (options_.vote == Vote::all_gather || machines_ == 1) return {};
  // Broadcasts of two members each, one after the other.
  Exchange exchange{.name = "signs to rank 0", .phases = {}};
  for (const int leader : leaders_) {
    if (leader == 0) continue;
    exchange.phases.push_back({{.from = gpu_of(leader), .to = gpu_of(0)}});
  }
  return {exchange};
}

}  // namespace gradwire
