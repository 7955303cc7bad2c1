#include <cmath>
#include <limits>
#include <memory>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/compression/acp_sgd.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/half_precision.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "strategies/compression/systems.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp with compression, in ms since an
// iteration's start, worked out by hand. T(n MB) = 0.5 + n of an all-reduce, H(n MB) = 0.5 + n / 2
// of an all-gather and a broadcast. Kernels take no time but where a case says so.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr int rank_of_factors = 4;
/// torch.linalg.qr of a factor of rank 4, ms: strategies/compression/low_rank.cpp.
constexpr double qr = 81.4e-3 + 4 * 2.92e-3;
constexpr Bytes two_tensors{2'000'000};
/// What torch.topk counts for 1.5 million elements, ms: strategies/compression/top_k.cpp.
constexpr double counters = 1.5e6 * 30.6e-9;

std::unique_ptr<Ddp> ddp_of_two(const JobView& job) {
  return std::make_unique<Ddp>(
      DdpOptions{
          .bucket_cap = two_tensors, .first_bucket_cap = two_tensors, .broadcast_buffers = false},
      job);
}

/// Groups of so many elements under a compressor.
template <class Compressor, class Options>
StrategyFactory grouped(std::int64_t elements, const Options& options,
                        bool after_backward = false) {
  return [=](const JobView& job) {
    const auto groups = groups_by_elements(job, elements);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; },
                                  GroupedOptions{.after_backward = after_backward}, job),
        std::make_unique<Compressor>(options, job, CodecDevice::gpu), job, 1);
  };
}
constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();

ToyTraining with_matrices(std::int64_t rows, std::int64_t columns) {
  ToyTraining toy;
  for (auto& layer : toy.profile.layers) layer.parameters.front().shape = {rows, columns};
  return toy;
}

}  // namespace

TEST_CASE("toy timeline: ddp with fp16", "[timeline][fp16]") {
  // Buckets of two tensors are full at 10, 14 and 18 and half as large: T(1) = 1.5.
  check_each(ToyTraining().run([](const JobView& job) {
    return std::make_unique<Compressed>(ddp_of_two(job), std::make_unique<HalfPrecision>(), job, 1);
  }),
             18 + 1.5 + 1);
}

TEST_CASE("toy timeline: powersgd", "[timeline][powersgd]") {
  // Matrices of 500 x 500, rank 4: P and Q of a tensor are 500 * 4 * 4 B = 8 kB each.
  PowerSgdOptions options;
  options.matrix_approximation_rank = rank_of_factors;
  options.start_iteration = 0;
  options.qr_from = everything;  // Gram-Schmidt, whose kernels take no time here
  const StrategyFactory hook = [&options](const JobView& job) {
    return std::make_unique<Compressed>(ddp_of_two(job), std::make_unique<PowerSgd>(options, job),
                                        job, 1);
  };
  ToyTraining toy = with_matrices(500, 500);
  SECTION("the hook of DDP waits for the device") {
    // A bucket: its P's T(0.016) = 0.516, then its Q's, the same; the launcher stands in the hook
    // until then, and backward with it: 10 to 11.032, 15.032 to 16.064, 20.064 to 21.096.
    check_each(toy.run(hook), 18 + 3 * 2 * 0.516 + 1);
  }
  SECTION("the hook takes PyTorch's QR") {
    // Both factors of each tensor, one after the other.
    options.qr_from = 3;
    check_each(toy.run(hook), 18 + 3 * 2 * 0.516 + 12 * qr + 1);
  }
  SECTION("a vector is not compressed") {
    // Tensor 0 is one, in the last bucket: T(1) = 1.5 first, then the P and the Q of tensor 1,
    // T(0.008) = 0.508.
    toy.profile.layers.front().parameters.front().shape = {250'000};
    check_each(toy.run(hook), 18 + 2 * 2 * 0.516 + 1.5 + 2 * 0.508 + 1);
  }
  SECTION("epfml's, after backward") {
    // Tensor 0 is a vector. The P's of the others, T(0.04) = 0.54, and the vector, T(1) = 1.5, one
    // behind the other; then the Q's, 0.54.
    options.hook = false;
    toy.profile.layers.front().parameters.front().shape = {250'000};
    check_each(toy.run([options](const JobView& job) {
      const auto all = groups_by_elements(job, everything);
      return std::make_unique<Compressed>(
          std::make_unique<Grouped>([all](int) { return all; },
                                    GroupedOptions{.copies = false, .after_backward = true}, job),
          std::make_unique<PowerSgd>(options, job), job, 1);
    }),
               18 + 1.5 + 2 * 0.54 + 1);
  }
}

TEST_CASE("toy timeline: acp_sgd", "[timeline][acp_sgd]") {
  // Matrices of 250 x 1000, rank 4: P of a tensor 4 kB, Q 16 kB. The threshold of 2.5 MB of
  // gradients is 10 kB of P's and 40 kB of Q's: groups of two. P's in even iterations, Q's in odd
  // ones; warm-up takes iteration 0. One all-reduce: T(0.008) = 0.508, T(0.032) = 0.532.
  const StrategyFactory acp = [](const JobView& job) {
    constexpr Bytes threshold{2'500'000};
    const auto even = acp_groups(job, rank_of_factors, threshold, true);
    const auto odd = acp_groups(job, rank_of_factors, threshold, false);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>(
            [even, odd](int iteration) { return reduces_p(iteration) ? even : odd; },
            GroupedOptions{.copies = false}, job),
        std::make_unique<AcpSgd>(rank_of_factors, job), job, 1);
  };
  ToyTraining toy = with_matrices(250, 1000);
  // Backward makes a factor of each of the six matrices orthogonal.
  const double added = 6 * qr;
  SECTION("kernels take no time") {
    check(toy.run(acp), {19.532 + added, 19.508 + added, 19.532 + added, 19.508 + added});
  }
  SECTION("kernels of 10 us") {
    // A matrix: error in and out 2, its QR 1, three products less the last one 2: 5, and behind the
    // all-reduce product and division: 2. Six matrices on the compute stream: 0.3 and 0.12.
    toy.gpu.kernel_overhead = Seconds{10e-6};
    const double more = added + 0.42;
    check(toy.run(acp), {19.532 + more, 19.508 + more, 19.532 + more, 19.508 + more});
  }
  SECTION("all-reduces hide behind backward one by one") {
    // Seven times slower, 3.724 and 3.556: from 10, 14 and 18.
    toy.cost = std::make_shared<AlphaBeta>(7);
    check(toy.run(acp), {22.724 + added, 22.556 + added, 22.724 + added, 22.556 + added});
  }
}

TEST_CASE("toy timeline: topk", "[timeline][topk]") {
  // A tenth of the elements: values and indexes of four ranks are 4 * 4 B * a tenth each.
  const SparsifierOptions options{.density = 0.1};
  SECTION("one group") {
    // 2.4 MB twice, H = 1.7.
    check_each(ToyTraining().run(grouped<Sparsifier>(everything, options)),
               18 + counters + 2 * 1.7 + 1);
  }
  SECTION("groups of two tensors") {
    // At 10, 14 and 18: 0.8 MB twice, H = 0.9.
    check_each(ToyTraining().run(grouped<Sparsifier>(500'000, options)),
               18 + counters + 2 * 0.9 + 1);
  }
  SECTION("kernels of 10 us") {
    // Six copies into the buffer and 26 kernels that select, behind the all-gathers 1 that zeroes,
    // 4 * 4 that add and 1 that divides.
    ToyTraining toy;
    toy.gpu.kernel_overhead = Seconds{10e-6};
    check_each(toy.run(grouped<Sparsifier>(everything, options)),
               18.32 + counters + 2 * 1.7 + 0.18 + 1);
  }
}

TEST_CASE("coding that is not measured widens the interval, measured coding does not",
          "[compression][spread]") {
  // An encoding and a decoding of each of four ranks, 2 and 1 ms; a division takes no time.
  class Measured final : public EncodeCosts {
   public:
    explicit Measured(MeasuredTime::Ground ground) : ground_(ground) {}
    [[nodiscard]] std::optional<MeasuredTime> encode(const std::string& /*compressor*/,
                                                     CodecDevice /*device*/,
                                                     std::int64_t /*elements*/) const override {
      return MeasuredTime{Seconds{2e-3}, ground_};
    }
    [[nodiscard]] std::optional<MeasuredTime> decode(const std::string& /*compressor*/,
                                                     CodecDevice /*device*/,
                                                     std::int64_t /*elements*/) const override {
      return MeasuredTime{Seconds{1e-3}, ground_};
    }

   private:
    MeasuredTime::Ground ground_;
  };
  const auto result = [](MeasuredTime::Ground ground) {
    const ToyTraining toy;
    const auto signs = grouped<SignCompressor>(everything, SignOptions{});
    const auto library = toy.library();
    const StrategyFactory strategy = [&](JobView job) {
      job.encode_costs = std::make_shared<Measured>(ground);
      return signs(job);
    };
    return simulate(toy.job(strategy, library));
  };
  const auto measured = result(MeasuredTime::Ground::inside);
  const auto extended = result(MeasuredTime::Ground::extended);
  CHECK(measured.coding_estimate_s == 0);
  CHECK(extended.coding_estimate_s == Approx(6e-3));
  CHECK(extended.iteration_s.front() == Approx(measured.iteration_s.front()));
  // 18 + 2 + H(0.75 MB) + 4 + 1 ms; what compute may be off joins by the root of squares.
  const double share = 6 / (18 + 2 + 0.875 + 4 + 1);
  CHECK(extended.spread_high == Approx(std::hypot(measured.spread_high, 1.5 * share)));
  CHECK(extended.spread_low == Approx(std::hypot(measured.spread_low, 0.6 * share)));
}

TEST_CASE("toy timeline: gtopk", "[timeline][gtopk]") {
  // After backward, a hundredth of 1.5 million elements, 8 B each: 0.12 MB and 0.12 at 1 a MB. Four
  // ranks: two rounds of a message and a merge, two messages back. A merge: two sorts of 30 000 at
  // 5 ns an element and doubling.
  constexpr double merge = 2 * 5e-6 * 30'000;
  check_each(ToyTraining::networked(1, 4, BytesPerSecond{1e9})
                 .run(grouped<GlobalTopK>(everything, 0.01, true)),
             18 + counters + 4 * 0.12 + 2 * merge * std::log2(30'000) + 1);
}

TEST_CASE("toy timeline: signsgd", "[timeline][signsgd]") {
  // 1.5 million signs: 187 500 B.
  SECTION("the sum of signs") {
    // All-gather of four: 0.75 MB, H = 0.875.
    check_each(ToyTraining().run(grouped<SignCompressor>(everything, SignOptions{})),
               18 + 0.875 + 1);
  }
  SECTION("majority vote on rank 0") {
    // Three machines: the two others send one after the other, 1.875 each at 10 ms a MB; then a
    // broadcast, which the same links hold to 1.875, above H(0.1875) = 0.59.
    check_each(
        ToyTraining::networked(1, 3, BytesPerSecond{0.1e9})
            .run(grouped<SignCompressor>(everything, SignOptions{.vote = Vote::rank0}, true)),
        18 + 3 * 1.875 + 1);
  }
}
