#include <algorithm>
#include <memory>

#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/measured_costs.hpp"
#include "strategies/compression/onebit_adam.hpp"
#include "strategies/compression/quantiser.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/compression/compression_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr auto gpu = CodecDevice::gpu;

/// V100-SXM2: profiles/gpus/v100-sxm2-32gb.yaml.
constexpr double bandwidth = 900e9 * 0.896;
constexpr double overhead = 2.64e-6;

double seconds(const CodecWork& work) {
  return std::max(work.time.count() + work.kernels * overhead +
                      static_cast<double>(work.traffic.count()) / bandwidth,
                  work.least.count());
}

/// One vector of so many elements on `ranks` ranks of two machines.
JobView vector_job(std::int64_t elements, int ranks) {
  JobView job = matrix_job();
  job.world_size = ranks;
  job.machine_of.clear();
  for (int rank = 0; rank < ranks; ++rank) job.machine_of.push_back(2 * rank / ranks);
  job.tensors = {{"all", elements, 0, {elements}}};
  job.gradient_order = {0};
  return job;
}

struct Times {
  double encode = 0;
  double decode = 0;
};

/// Work on the GPU of a recipe, its divisions and copies included.
Times times_of(const Compressor& compressor, const JobView& job) {
  const Recipe recipe = compressor.recipe(whole_group(job));
  Times times;
  const auto add = [](double& sum, const std::vector<CodecWork>& list) {
    for (const auto& work : list) {
      if (work.place == CodecWork::Place::gpu) sum += seconds(work);
    }
  };
  add(times.encode, recipe.encode);
  for (const auto& round : recipe.rounds) add(times.decode, round.work);
  return times;
}

std::vector<std::unique_ptr<Compressor>> compressors(const JobView& job) {
  std::vector<std::unique_ptr<Compressor>> list;
  list.push_back(std::make_unique<SignCompressor>(SignOptions{}, job, gpu));
  list.push_back(std::make_unique<SignCompressor>(SignOptions{.error_feedback = true}, job, gpu));
  list.push_back(std::make_unique<Quantiser>(Quantiser::Coding::fixed, 127, job, gpu));
  for (const Release release : {Release{1, 4}, Release{1, 11}, Release{1, 12}}) {
    SparsifierOptions options{.pytorch = release};
    list.push_back(std::make_unique<Sparsifier>(options, job, gpu));
    list.push_back(std::make_unique<GlobalTopK>(0.001, job, gpu, Seconds{}, release));
  }
  list.push_back(
      std::make_unique<Sparsifier>(SparsifierOptions{.selection = Selection::dgc}, job, gpu));
  list.push_back(
      std::make_unique<Sparsifier>(SparsifierOptions{.selection = Selection::randomk}, job, gpu));
  list.push_back(std::make_unique<OneBitAdam>(0, job));
  return list;
}

JobView measured_job(std::vector<CompressorTable> shipped, std::vector<CompressorTable> own = {}) {
  JobView job = vector_job(1'000'000, 2);
  job.encode_costs =
      std::make_shared<MeasuredCosts>(std::move(shipped), BytesPerSecond{900e9}, std::move(own));
  return job;
}

/// Signs between 10^5 and 10^6 elements, by kernels of their own: 1 and 2 ms at the end.
CompressorTable signs_table() {
  return {
      .compressor = "signsgd",
      .memory_bandwidth = BytesPerSecond{900e9},
      .rows = {{100'000, Seconds{1e-4}, Seconds{2e-4}}, {1'000'000, Seconds{1e-3}, Seconds{2e-3}}},
      .constant_below = false};
}

CodecWork packing(const JobView& job, std::int64_t elements) {
  return SignCompressor({}, job, gpu).payload(elements, 0)->encode.front();
}

}  // namespace

TEST_CASE("coding grows with the elements, and at most in proportion", "[compression][pricing]") {
  constexpr int ranks = 64;
  for (const std::int64_t elements : {1'000, 60'000, 1'000'000, 25'557'032, 336'226'108}) {
    const auto once = compressors(vector_job(elements, ranks));
    const auto twice = compressors(vector_job(2 * elements, ranks));
    for (std::size_t i = 0; i < once.size(); ++i) {
      INFO(elements << " elements, compressor " << i);
      const Times few = times_of(*once[i], vector_job(elements, ranks));
      const Times many = times_of(*twice[i], vector_job(2 * elements, ranks));
      CHECK(many.encode >= few.encode);
      CHECK(many.decode >= few.decode);
      CHECK(many.encode <= 2.001 * few.encode);
      CHECK(many.decode <= 2.001 * few.decode);
    }
  }
}

TEST_CASE("ResNet-50's gradients are coded on a V100 in what their kernels move",
          "[compression][pricing]") {
  constexpr double n = 25'557'032;
  const auto job = vector_job(25'557'032, 64);
  // 67.125 bytes an element and 164 kernels; 68 and 103 for each of 64 ranks, and a division (8).
  const Times signs = times_of(SignCompressor({}, job, gpu), job);
  CHECK(signs.encode == Approx(164 * overhead + 67.125 * n / bandwidth).epsilon(1e-4));
  CHECK(signs.decode ==
        Approx((64 * 103 + 1) * overhead + (64 * 68 + 8) * n / bandwidth).epsilon(1e-4));
  // 98 + 1 bytes and 15 kernels; 24 + 1 and 4 for each rank.
  const Times qsgd = times_of(Quantiser(Quantiser::Coding::fixed, 127, job, gpu), job);
  CHECK(qsgd.encode == Approx(15 * overhead + 99 * n / bandwidth).epsilon(1e-4));
  CHECK(qsgd.decode ==
        Approx((64 * 4 + 1) * overhead + (64 * 25 + 8) * n / bandwidth).epsilon(1e-4));
  // k = 25557. Five readings and 20 bytes an element, 31 ps; 96 + 3 * 40 bytes a kept one.
  const Times topk = times_of(Sparsifier({}, job, gpu), job);
  CHECK(topk.encode ==
        Approx(26 * overhead + n * 30.6e-12 + (40 * n + 216 * 25557.0) / bandwidth).epsilon(1e-4));
}

TEST_CASE("top-k is decoded by one clearing and k elements of each rank",
          "[compression][pricing]") {
  // 4 n, and for each of P k elements 12 + 44 + 12 + 76 = 144 bytes; 1 + 4 P kernels.
  const int ranks = GENERATE(1, 2, 64);
  const auto job = vector_job(138'357'544, ranks);
  constexpr std::int64_t kept = 138'357;
  const CodecWork scatter = Sparsifier({}, job, gpu).recipe(whole_group(job)).rounds[0].work[0];
  CHECK(scatter.traffic.count() == 4 * 138'357'544LL + ranks * kept * 144);
  CHECK(scatter.kernels == 1 + 4 * ranks);
  CHECK(scatter.time.count() == 0);
}

TEST_CASE("a measured decoding is that of one rank: others add their elements alone",
          "[compression][pricing]") {
  const auto decoded = [](int ranks, CodecDevice device) {
    auto job = vector_job(1'000'000, ranks);
    job.encode_costs = std::make_shared<FlatCosts>();
    return Sparsifier({.density = 0.01}, job, device).recipe(whole_group(job)).rounds[0].work[0];
  };
  CHECK(decoded(1, gpu).time.count() == Approx(2e-3));
  // On 64 ranks 4 n + 64 * 10^4 * 144 bytes, but no less than the one.
  CHECK(decoded(64, gpu).traffic.count() == 4'000'000 + 64 * 10'000 * 144);
  CHECK(decoded(64, gpu).least.count() == Approx(2e-3));
  // On a CPU 16 bytes for each of 63 * 10^4 elements at 14.2 GB/s beside it.
  CHECK(decoded(64, CodecDevice::cpu).time.count() == Approx(2e-3 + 63 * 1e4 * 16 / 14.2e9));
}

TEST_CASE("torch.topk takes one block's time before 1.11, and far less after", "[topk][pricing]") {
  // Issue 22812: 25.6 ms for 2 10^6 elements.
  CHECK(top_k(2'000'000, 1000, {1, 1}).time.count() == Approx(25.6e-3));
  CHECK(top_k(2'000'000, 1000, {1, 11}).time.count() == Approx(25.6e-3 / 22));
  // Pull request 164459: an H20 (4 TB/s) takes 3.56 ms for 10^8.
  const CodecWork many = top_k(100'000'000, 100, {2, 6});
  CHECK(many.time.count() + static_cast<double>(many.traffic.count()) / 4e12 ==
        Approx(3.56e-3).epsilon(0.01));
}

TEST_CASE("inside the measured range the measurement counts, outside the kernels do",
          "[compression][pricing]") {
  const auto job = measured_job({signs_table()});
  const CodecWork inside = packing(job, 500'000);
  CHECK(inside.time.count() == Approx(5e-4));
  CHECK(inside.traffic.count() == 0);
  CHECK_FALSE(inside.estimate);
  const CodecWork below = packing(job, 10'000);
  CHECK(below.time.count() == 0);
  CHECK(below.traffic.count() > 0);
  CHECK(below.estimate);
  const CodecWork above = packing(job, 25'000'000);
  CHECK(above.time.count() == 0);
  CHECK(above.traffic.count() > 0);
  CHECK(above.least.count() == Approx(1e-3));  // more elements take no less than 10^6 did
  CHECK(above.estimate);
}

TEST_CASE("a single size is no range, nor has a law one", "[compression][pricing]") {
  CompressorTable point = signs_table();
  point.rows.erase(point.rows.begin());
  CHECK(packing(measured_job({point}), 1'000'000).estimate);
  CHECK(packing(measured_job({point}), 25'000'000).least.count() == 0);
  point.constant_below = true;  // launches bound it: up to that size it was measured
  CHECK(packing(measured_job({point}), 10'000).time.count() == Approx(1e-3));
  const CompressorTable law{.compressor = "signsgd",
                            .memory_bandwidth = BytesPerSecond{900e9},
                            .encode_n_log2_n = Seconds{1e-9}};
  CHECK(packing(measured_job({law}), 1'000'000).time.count() == 0);
}

TEST_CASE("what a scenario names extends beyond its range, as an estimate",
          "[compression][pricing]") {
  const auto job = measured_job({}, {signs_table()});
  CHECK_FALSE(packing(job, 500'000).estimate);
  const CodecWork above = packing(job, 4'000'000);
  CHECK(above.time.count() == Approx(4e-3));
  CHECK(above.estimate);
}
