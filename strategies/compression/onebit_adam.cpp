#include "strategies/compression/onebit_adam.hpp"

#include <limits>

namespace gradwire {
namespace {

constexpr std::int64_t bits_in_byte = 8;
constexpr std::int64_t scale_size = 4;

// Passes over n fp32 elements, counted from the tensor operations of nccl.py: the error is added
// (3), the norm taken (1), signs made and their error kept (2 + 3), bits packed (1); a chunk of
// every rank is unpacked (1), scaled (2) and summed (1).
constexpr int pack_passes = 10;
constexpr int pack_kernels = 7;
constexpr int unpack_passes = 4;
constexpr int unpack_kernels = 4;

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
    return pricing_.encode(
        elements, streaming("pack signs", pack_passes * fp32_size(elements), pack_kernels));
  };
  const auto unpack = [&] {
    return pricing_.decode(
        padded, streaming("unpack signs", unpack_passes * fp32_size(padded), unpack_kernels));
  };
  // A rank's chunk comes from every rank: as many elements as the whole.
  return {.encode = {pack(padded)},
          .rounds = {{.transfers = {{.part = "signs to chunks",
                                     .kind = CollectiveKind::all_to_all,
                                     .size = signs},
                                    scales},
                      .work = {unpack(), pack(padded / group.ranks)}},
                     {.transfers = {{.part = "signs of chunks",
                                     .kind = CollectiveKind::all_gather,
                                     .size = signs},
                                    scales},
                      .work = {unpack()}}}};
}

std::vector<CollectiveUse> OneBitAdam::collectives() const {
  return {{CollectiveKind::all_to_all}, {CollectiveKind::all_gather}};
}

}  // namespace gradwire
