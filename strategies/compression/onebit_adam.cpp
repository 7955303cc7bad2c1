#include "strategies/compression/onebit_adam.hpp"

#include <limits>

namespace gradwire {
namespace {

constexpr std::int64_t bits_in_byte = 8;
constexpr std::int64_t scale_size = 4;

// Bytes that an element moves through device memory: each operation on a tensor is a kernel of its
// own (onebit_adam.py, Compressed_Allreduce; nccl.py has the same operations). fp32 in place: 8.
//
// The error is added (12), the norm taken (4); sign (8), plus one (8), to bool (5), to float (5),
// less a half (8), doubled (8), scaled (8) and subtracted (12) is the new error; sign (8), plus one
// (8), to bool (5), packed (1).
constexpr std::int64_t pack_traffic = 100;
constexpr int pack_kernels = 14;
// Unpacked (1), to float (5), less a half (8), doubled (8), scaled (8).
constexpr std::int64_t unpack_traffic = 30;
constexpr int unpack_kernels = 5;
// What all ranks sent for a chunk is added up besides (4).
constexpr std::int64_t sum_traffic = 4;

}  // namespace

OneBitAdam::OneBitAdam(int freeze_step, const JobView& job)
    : freeze_step_(freeze_step), pricing_("onebit_adam", CodecDevice::gpu, job) {}

CompressorMaker OneBitAdam::read(Knobs& knobs) {
  const auto freeze_step = static_cast<int>(
      knobs.count("freeze_step", 100'000, 0, std::numeric_limits<int>::max(),
                  "DeepSpeed, OnebitAdam(freeze_step=100000): iterations of plain Adam before"));
  return [freeze_step](const JobView& job, CodecDevice /*device*/) {
    return std::make_unique<OneBitAdam>(freeze_step, job);
  };
}

Recipe OneBitAdam::recipe(const TensorGroup& group) const {
  // One rank alone does not compress (onebit_adam.py: size > 1).
  if (group.iteration < freeze_step_ || group.ranks == 1) {
    return {.encode = {},
            .rounds = {{.transfers = {{.size = fp32_size(group.elements)}}, .work = {}}}};
  }
  // Padded so that every rank has a chunk of whole bytes.
  const std::int64_t unit = bits_in_byte * group.ranks;
  const std::int64_t padded = (group.elements + unit - 1) / unit * unit;
  const Bytes signs{padded / bits_in_byte};
  const Transfer scales{.part = "scales",
                        .kind = CollectiveKind::all_gather,
                        .size = Bytes{group.ranks * scale_size}};
  const auto pack = [&](std::int64_t elements) {
    return pricing_.encode(elements,
                           streaming("pack signs", Bytes{pack_traffic * elements}, pack_kernels));
  };
  const auto unpack = [&](std::int64_t traffic, int kernels) {
    return pricing_.decode(padded, streaming("unpack signs", Bytes{traffic * padded}, kernels));
  };
  // A rank's chunk comes from every rank: as many elements as the whole.
  return {.encode = {pack(padded)},
          .rounds = {{.transfers = {{.part = "signs to chunks",
                                     .kind = CollectiveKind::all_to_all,
                                     .size = signs},
                                    scales},
                      .work = {unpack(unpack_traffic + sum_traffic, unpack_kernels + 1),
                               pack(padded / group.ranks)}},
                     {.transfers = {{.part = "signs of chunks",
                                     .kind = CollectiveKind::all_gather,
                                     .size = signs},
                                    scales},
                      .work = {unpack(unpack_traffic, unpack_kernels)}}}};
}

std::vector<CollectiveUse> OneBitAdam::collectives() const {
  return {{CollectiveKind::all_to_all}, {CollectiveKind::all_gather}};
}

}  // namespace gradwire
