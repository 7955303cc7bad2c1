#include "strategies/compression/sparsifier.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "strategies/compression/corrections.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t index_size = 4;
constexpr std::int64_t entry_size = gradient_element_size + index_size;
/// DGC's gathers indexes as nonzero() makes them (dgc/compression.py, int32_indices false).
constexpr std::int64_t dgc_index_size = 8;

/// DGC's warm-up: sparsity 75 %, 93.75 %, 98.4375 %, 99.6 %, then the target.
constexpr std::array warmup_densities = {0.25, 0.0625, 0.015625, 0.004};

// Bytes for each of n elements beside the selection, see Sparsifier; ddl-benchmarks' indexed
// operations: values taken, residual and mask cleared at the indexes.
constexpr std::int64_t topk_traffic = 8 + 8 + 4;
constexpr std::int64_t topk_indexed = 3;
constexpr int topk_kernels = 6;
constexpr int topk_feedback_passes = 3;
constexpr int topk_feedback_kernels = 1;
// DGC: momentum scaled, gradient added, velocity added up; absolute values; comparison and indexes,
// which are adapted up to ten times: once is assumed. Momentum and velocity cleared, values taken.
constexpr std::int64_t dgc_threshold = 5 + 2;
constexpr std::int64_t dgc_traffic = 8 + 12 + 12 + 8 + 2 * dgc_threshold;
constexpr std::int64_t dgc_indexed = 3;
constexpr int dgc_kernels = 17;
constexpr std::int64_t dgc_sample = 100;  ///< one in so many: sample_ratio 0.01
/// A sort of k keys of 8 bytes with positions: eight digits, read and written; then an indexed sum.
constexpr std::int64_t dgc_put_traffic = std::int64_t{8} * 2 * 16 + 2 * indexed_traffic;
constexpr int dgc_put_kernels = 21;
constexpr int randomk_kernels = 2;  ///< the indexes, and the elements at them

CompressorMaker maker(const SparsifierOptions& options) {
  return [options](const JobView& job, CodecDevice device) {
    return std::make_unique<Sparsifier>(options, job, device);
  };
}

std::string measured_name(Selection selection) {
  switch (selection) {
    case Selection::topk:
      return "topk";
    case Selection::dgc:
      return "dgc";
    case Selection::randomk:
      break;
  }
  return "randomk";
}

}  // namespace

std::int64_t kept_elements(std::int64_t elements, double density) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(elements) * density),
                                1);
}

Seconds read_host_time(Knobs& knobs) {
  return knobs.time("host_time", Seconds{},
                    "an element; gtopkssgd, scripts/icdcs2019/communication.py, plot_breakdown(): "
                    "54 ns on its machines (results/reference/gtopk19.yaml)");
}

CodecWork host_passes(std::int64_t elements, Seconds host_time) {
  return {.place = CodecWork::Place::cpu,
          .label = "pass gradients on the host",
          .time = static_cast<double>(elements) * host_time};
}

double read_density(Knobs& knobs, double fallback, const std::string& source) {
  const double density = knobs.ratio("density", fallback, source);
  if (density <= 0) knobs.refuse("density", "'density' is 0 %; expected more than 0 %");
  return density;
}

Sparsifier::Sparsifier(const SparsifierOptions& options, const JobView& job, CodecDevice device)
    : options_(options),
      // Whatever chose them: values go where their indices say.
      pricing_(measured_name(options.selection), device, job, measured_name(Selection::randomk)),
      tensors_(job.tensors) {}

CompressorMaker Sparsifier::read_topk(Knobs& knobs) {
  return maker({.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh"),
                .pytorch = read_pytorch(knobs)});
}
CompressorMaker Sparsifier::read_ef_topk(Knobs& knobs) {
  return maker({.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh"),
                .error_feedback = true,
                .pytorch = read_pytorch(knobs)});
}
CompressorMaker Sparsifier::read_dgc(Knobs& knobs) {
  SparsifierOptions options{.selection = Selection::dgc};
  options.density = read_density(knobs, 0.001, "Lin et al. 2018: sparsity 99.9 %");
  options.warmup_steps = static_cast<int>(knobs.count(
      "warmup_steps", 0, 0, std::numeric_limits<int>::max() / 8,
      "optimizer steps at each of 25, 6.25, 1.5625 and 0.4 % before the density; Lin et "
      "al. 2018: an epoch each"));
  options.pytorch = read_pytorch(knobs);
  return maker(options);
}
CompressorMaker Sparsifier::read_randomk(Knobs& knobs) {
  return maker({.selection = Selection::randomk,
                .density = read_density(knobs, 0.01, "Espresso, compressor_microbenchmark: 1 %"),
                .error_feedback = knobs.yes("error_feedback", false, "BytePS: ef is optional")});
}

std::int64_t Sparsifier::kept(std::int64_t elements, int iteration) const {
  double density = options_.density;
  if (options_.warmup_steps > 0) {
    const auto stage = static_cast<std::size_t>(iteration / options_.warmup_steps);
    if (stage < warmup_densities.size()) density = std::max(density, warmup_densities.at(stage));
  }
  return kept_elements(elements, density);
}

Phasing Sparsifier::phasing() const {
  return {.steady_from = static_cast<int>(warmup_densities.size()) * options_.warmup_steps};
}

CodecWork Sparsifier::selection(std::int64_t elements, std::int64_t kept, int tensors) const {
  if (options_.selection == Selection::randomk) {
    return streaming("", Bytes{kept * (indexed_traffic + entry_size)}, randomk_kernels);
  }
  const bool dgc = options_.selection == Selection::dgc;
  CodecWork work = dgc ? top_k(std::max<std::int64_t>(elements / dgc_sample, 1),
                               std::max<std::int64_t>(kept / dgc_sample, 1), options_.pytorch)
                       : top_k(elements, kept, options_.pytorch);
  work.traffic += Bytes{(dgc ? dgc_traffic : topk_traffic) * elements +
                        (dgc ? dgc_indexed : topk_indexed) * indexed_traffic * kept};
  work.kernels = dgc ? tensors * (work.kernels + dgc_kernels) : work.kernels + topk_kernels;
  return work;
}

void Sparsifier::select(std::int64_t elements, std::int64_t kept, int tensors,
                        std::vector<CodecWork>& work) const {
  CodecWork counted = selection(elements, kept, tensors);
  counted.label = "select elements";
  work.push_back(pricing_.encode(elements, std::move(counted)));
  if (!options_.error_feedback) return;
  if (pricing_.on_cpu() || options_.selection != Selection::topk) {
    work.push_back(error_feedback(elements, pricing_.device(), pricing_.sum_rate()));
    return;
  }
  work.push_back(streaming("error feedback", topk_feedback_passes * fp32_size(elements),
                           topk_feedback_kernels));
}

CodecWork Sparsifier::scatter(std::int64_t elements, std::int64_t kept, int tensors,
                              std::int64_t ranks) const {
  const bool dgc = options_.selection == Selection::dgc;
  const auto counted = [&](std::int64_t times) {
    const std::int64_t each = dgc ? dgc_put_traffic : indexed_sum_traffic;
    const int kernels =
        dgc ? tensors * (1 + dgc_put_kernels) : 1 + static_cast<int>(times) * indexed_sum_kernels;
    return streaming("scatter elements", fp32_size(elements) + Bytes{times * kept * each}, kernels);
  };
  // What was measured clears the result and adds one rank's.
  CodecWork one = pricing_.decode(elements, counted(1));
  if (ranks == 1) return one;
  if (pricing_.on_cpu()) {
    CodecWork all = one;
    const Bytes others{(ranks - 1) * kept * (entry_size + 2 * gradient_element_size)};
    all.time += others / pricing_.sum_rate();
    return all;
  }
  CodecWork all = counted(ranks);
  all.least = std::max(one.time, one.least);
  all.estimate = true;
  return all;
}

int Sparsifier::coded_tensors(const TensorGroup& group) const {
  // DGC leaves vectors alone (train.py: parameters of more than one dimension).
  const auto matrices = std::ranges::count_if(group.tensors, [this](TensorId id) {
    return tensors_[static_cast<std::size_t>(id)].shape.size() > 1;
  });
  return std::max(static_cast<int>(matrices), 1);
}

Recipe Sparsifier::recipe(const TensorGroup& group) const {
  const std::int64_t count = kept(group.elements, group.iteration);
  Recipe recipe;
  pricing_.fetch(group.elements, recipe.encode);
  const int tensors = coded_tensors(group);
  select(group.elements, count, tensors, recipe.encode);
  if (options_.host_time > Seconds{}) {
    recipe.encode.push_back(host_passes(group.elements, options_.host_time));
  }
  CodecRound round{
      .transfers = {{.part = "values",
                     .kind = CollectiveKind::all_gather,
                     .size = Bytes{group.ranks * count * gradient_element_size}},
                    {.part = "indexes",
                     .kind = CollectiveKind::all_gather,
                     .size = Bytes{group.ranks * count *
                                   (options_.selection == Selection::dgc ? dgc_index_size
                                                                         : index_size)}}},
      .work = {scatter(group.elements, count, tensors, group.ranks)}};
  pricing_.store(group.elements, round.work);
  round.work.push_back(streaming("divide", 2 * fp32_size(group.elements), 1));
  recipe.rounds = {std::move(round)};
  return recipe;
}

std::optional<Payload> Sparsifier::payload(std::int64_t elements, int iteration) const {
  const std::int64_t count = kept(elements, iteration);
  Payload payload{.size = Bytes{count * entry_size}, .decode = {scatter(elements, count, 1, 1)}};
  select(elements, count, 1, payload.encode);
  return payload;
}

std::vector<CollectiveUse> Sparsifier::collectives() const {
  return {{CollectiveKind::all_gather}};
}

}  // namespace gradwire
