#include "strategies/compression/sparsifier.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/core/host_cpu.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t index_size = 4;
constexpr std::int64_t entry_size = gradient_element_size + index_size;

/// DGC's warm-up: sparsity 75 %, 93.75 %, 98.4375 %, 99.6 %, then the target.
constexpr std::array warmup_densities = {0.25, 0.0625, 0.015625, 0.004};

// Passes over n fp32 elements beside the selection, counted from the tensor operations of
// ddl-benchmarks' compression.py: absolute value (2), the mask (1); with error feedback the
// residual is added (3) and kept (2); DGC corrects and clears momentum and velocity (6).
constexpr int mask_passes = 3;
constexpr int mask_kernels = 3;
constexpr int feedback_passes = 5;
constexpr int feedback_kernels = 2;
/// On a CPU: the residual is added, and kept by a copy; assumed to take as long as a sum.
constexpr double feedback_sums = 2;
constexpr int momentum_passes = 6;
constexpr int momentum_kernels = 4;
// The selection itself, where it was not measured. Assumed: topk reads everything once for each of
// the four bytes of a key (radix selection); DGC once, to compare with the threshold; a random
// choice looks at no other element.
constexpr int radix_passes = 4;
constexpr int radix_kernels = 8;
constexpr int threshold_passes = 1;
constexpr int threshold_kernels = 4;

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
      pricing_(measured_name(options.selection), device, job, measured_name(Selection::randomk)) {}

CompressorMaker Sparsifier::read_topk(Knobs& knobs) {
  return maker({.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh")});
}
CompressorMaker Sparsifier::read_ef_topk(Knobs& knobs) {
  return maker({.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh"),
                .error_feedback = true});
}
CompressorMaker Sparsifier::read_dgc(Knobs& knobs) {
  SparsifierOptions options{.selection = Selection::dgc};
  options.density = read_density(knobs, 0.001, "Lin et al. 2018: sparsity 99.9 %");
  options.warmup_steps = static_cast<int>(knobs.count(
      "warmup_steps", 0, 0, std::numeric_limits<int>::max() / 8,
      "optimizer steps at each of 25, 6.25, 1.5625 and 0.4 % before the density; Lin et "
      "al. 2018: an epoch each"));
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

void Sparsifier::select(std::int64_t elements, std::int64_t kept,
                        std::vector<CodecWork>& work) const {
  int passes = mask_passes;
  int kernels = mask_kernels;
  if (options_.selection == Selection::topk) {
    passes += radix_passes;
    kernels += radix_kernels;
  } else if (options_.selection == Selection::dgc) {
    passes += threshold_passes + momentum_passes;
    kernels += threshold_kernels + momentum_kernels;
  } else {
    passes = 0;
    kernels = 2;  // the random indexes, and the elements at them
  }
  work.push_back(pricing_.encode(
      elements, streaming("select elements",
                          passes * fp32_size(elements) + 2 * Bytes{kept * entry_size}, kernels)));
  if (!options_.error_feedback) return;
  if (pricing_.on_cpu()) {
    work.push_back({.place = CodecWork::Place::cpu,
                    .label = "error feedback",
                    .time = feedback_sums * (fp32_size(elements) / cpu_sum_rate)});
  } else {
    work.push_back(
        streaming("error feedback", feedback_passes * fp32_size(elements), feedback_kernels));
  }
}

CodecWork Sparsifier::scatter(std::int64_t elements, std::int64_t kept, std::int64_t times) const {
  // Zero the result; then read entry and target and write the target, for each rank.
  const Bytes added{times * kept * (entry_size + 2 * gradient_element_size)};
  return pricing_.decode(
      elements,
      streaming("scatter elements", fp32_size(elements) + added, 1 + static_cast<int>(times)),
      times);
}

Recipe Sparsifier::recipe(const TensorGroup& group) const {
  const std::int64_t count = kept(group.elements, group.iteration);
  Recipe recipe;
  pricing_.fetch(group.elements, recipe.encode);
  select(group.elements, count, recipe.encode);
  if (options_.host_time > Seconds{}) {
    recipe.encode.push_back(host_passes(group.elements, options_.host_time));
  }
  CodecRound round{.transfers = {{.part = "values",
                                  .kind = CollectiveKind::all_gather,
                                  .size = Bytes{group.ranks * count * gradient_element_size}},
                                 {.part = "indexes",
                                  .kind = CollectiveKind::all_gather,
                                  .size = Bytes{group.ranks * count * index_size}}},
                   .work = {scatter(group.elements, count, group.ranks)}};
  pricing_.store(group.elements, round.work);
  round.work.push_back(streaming("divide", 2 * fp32_size(group.elements), 1));
  recipe.rounds = {std::move(round)};
  return recipe;
}

std::optional<Payload> Sparsifier::payload(std::int64_t elements, int iteration) const {
  const std::int64_t count = kept(elements, iteration);
  Payload payload{.size = Bytes{count * entry_size}, .decode = {scatter(elements, count, 1)}};
  select(elements, count, payload.encode);
  return payload;
}

std::vector<CollectiveUse> Sparsifier::collectives() const {
  return {{CollectiveKind::all_gather}};
}

}  // namespace gradwire
