#include "strategies/compression/global_top_k.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "strategies/compression/sparsifier.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t entry_size = 8;  ///< a value and an index as floats
/// Merging two lists of k and choosing again: numpy's intersect1d and argsort, sorts of 2k numbers
/// each, at this time an element and doubling. Assumed: numpy sorts 10^6 floats in about 0.1 s.
constexpr double sort_seconds = 5e-9;
constexpr int sorts = 2;
/// Beside torch.topk, see GlobalTopK; values taken, residual and mask cleared at the indexes.
constexpr std::int64_t select_traffic = 12 + 8 + 8 + 4;
constexpr std::int64_t select_indexed = 3;
constexpr int select_kernels = 7;

}  // namespace

GlobalTopK::GlobalTopK(double density, const JobView& job, CodecDevice device, Seconds host_time,
                       Release pytorch)
    : density_(density),
      host_time_(host_time),
      pytorch_(pytorch),
      pricing_("topk", device, job),
      ranks_(job.world_size),
      rounds_(static_cast<int>(std::bit_width(static_cast<unsigned>(job.world_size - 1)))),
      host_copy_(job.host_copy_bandwidth),
      latency_(job.message_latency) {}

CompressorMaker GlobalTopK::read(Knobs& knobs) {
  const double density = read_density(knobs, 0.001, "gtopkssgd, gtopk_trainer.py: density 0.001");
  const Release pytorch = read_pytorch(knobs);
  return [density, pytorch](const JobView& job, CodecDevice device) {
    return std::make_unique<GlobalTopK>(density, job, device, Seconds{}, pytorch);
  };
}

Recipe GlobalTopK::recipe(const TensorGroup& group) const {
  const std::int64_t kept = kept_elements(group.elements, density_);
  const Bytes entries{kept * entry_size};
  const Bytes full = fp32_size(group.elements);
  Recipe recipe;
  CodecWork selection = top_k(group.elements, kept, pytorch_);
  selection.label = "select elements";
  selection.traffic +=
      Bytes{select_traffic * group.elements + select_indexed * indexed_traffic * kept};
  selection.kernels += select_kernels;
  recipe.encode = {pricing_.encode(group.elements, std::move(selection)),
                   bus_copy(entries, host_copy_, "copy elements to host")};
  if (host_time_ > Seconds{}) recipe.encode.push_back(host_passes(group.elements, host_time_));
  const auto merged = static_cast<double>(2 * kept);
  const Seconds merge{sorts * sort_seconds * merged * std::log2(merged)};
  // MPI_Barrier: as many rounds of small messages.
  const Seconds barrier = static_cast<double>(rounds_) * latency_;
  for (int round = 0; round < rounds_; ++round) {
    recipe.rounds.push_back({.transfers = {{.part = fmt::format("round {}", round),
                                            .size = entries,
                                            .exchange = round}},
                             .work = {{.place = CodecWork::Place::cpu,
                                       .label = "merge elements",
                                       .time = merge + barrier,
                                       .estimate = true}}});
  }
  const std::vector<CodecWork> decode = {
      bus_copy(entries, host_copy_, "copy elements to GPU"),
      streaming("scatter elements", full + Bytes{kept * indexed_sum_traffic}, 2),
      streaming("divide", 2 * full, 1)};
  if (rounds_ > 0) {
    recipe.rounds.push_back(
        {.transfers = {{.part = "result", .size = entries, .exchange = rounds_}}, .work = decode});
  } else {
    recipe.rounds.push_back({.transfers = {}, .work = decode});
  }
  return recipe;
}

std::vector<Exchange> GlobalTopK::exchanges() const {
  std::vector<Exchange> exchanges;
  Exchange down{.name = "gtopk broadcast", .phases = {}};
  for (int round = 0; round < rounds_; ++round) {
    const int stride = 1 << round;
    Exchange up{.name = fmt::format("gtopk round {}", round), .phases = {{}}};
    std::vector<Message> back;
    for (int rank = 0; rank + stride < ranks_; rank += 2 * stride) {
      up.phases[0].push_back({.from = host_of(rank + stride), .to = host_of(rank)});
      back.push_back({.from = host_of(rank), .to = host_of(rank + stride)});
    }
    exchanges.push_back(std::move(up));
    down.phases.insert(down.phases.begin(), std::move(back));
  }
  if (rounds_ > 0) exchanges.push_back(std::move(down));
  return exchanges;
}

}  // namespace gradwire
