#include "strategies/all_reduce/tf_collective_all_reduce.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp under TensorFlow's collective
// all-reduce, in ms since an iteration's start, worked out by hand. T(n MB) = 0.5 + n of NCCL's.
// Packs above 2 MB: {5, 4, 3} and {2, 1, 0}, there at 12 and 18; their updates take 0.5 each.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr BytesPerSecond four_ms_a_mb{0.25e9};
constexpr Bytes two_packs{2'000'000};

}  // namespace

TEST_CASE("toy timeline: tf_collective_all_reduce over NCCL", "[timeline][tensorflow]") {
  // One pack of all: T(6) from 18 and the update.
  TfCollectiveOptions options{.nccl = true};
  check_each(ToyTraining().run(make<TfCollectiveAllReduce>(options)), 18 + 6.5 + 1);
  SECTION("two packs: T(3) from 12 and from 18, the first one's update behind backward") {
    options.bytes_per_pack = two_packs;
    check_each(ToyTraining().run(make<TfCollectiveAllReduce>(options)), 18 + 3.5 + 0.5);
  }
}

TEST_CASE("toy timeline: tf_collective_all_reduce over its ring", "[timeline][tensorflow]") {
  // Four machines of one GPU, 4 ms a MB between them, copies in a machine take no time. A pass
  // moves 3/4 of a pack: of 6 MB 4.5, 18 ms; two passes from 18 on, and the update.
  const auto toy = ToyTraining::networked(1, 4, four_ms_a_mb);
  TfCollectiveOptions options;
  check_each(toy.run(make<TfCollectiveAllReduce>(options)), 18 + 2 * 18 + 1);
  SECTION("two packs: 9 a pass, one pack behind the other, an update beside the second's ring") {
    options.bytes_per_pack = two_packs;
    check_each(toy.run(make<TfCollectiveAllReduce>(options)), 18 + 2 * 18 + 0.5);
  }
  SECTION("calls: three of 1 ms a pass and 5 ms a MB of the sender, longer than the wire") {
    options.calls = {.threads = 8,
                     .send_rate = BytesPerSecond{0.2e9},
                     .receive_rate = BytesPerSecond{1e9},
                     .call = Seconds{1e-3}};
    check_each(toy.run(make<TfCollectiveAllReduce>(options)), 18 + 2 * (3 + 4.5 * 5) + 1);
  }
  SECTION("two GPUs a machine: 7/8 of a pack a pass crosses between any two machines") {
    const auto pairs = ToyTraining::networked(2, 4, four_ms_a_mb);
    check_each(pairs.run(make<TfCollectiveAllReduce>(options)), 18 + 2 * 6 * 7.0 / 8 * 4 + 1);
  }
}

TEST_CASE("toy timeline: tf_collective_all_reduce copies through host memory",
          "[timeline][tensorflow]") {
  // Every link carries 1 MB in 4 ms, a pass moves 3 MB of a pack of 6 between two machines: 12 to
  // the host, 12 to the other host, 12 to its GPU.
  const ToyTraining toy(1, 2, four_ms_a_mb);
  check_each(toy.run(make<TfCollectiveAllReduce>(TfCollectiveOptions{})), 18 + 2 * 3 * 12 + 1);
}

TEST_CASE("toy timeline: tf_collective_all_reduce adds its chunks on the GPU",
          "[timeline][tensorflow]") {
  // Two machines of one GPU and a kernel takes 0.1: one concatenates at 18, one adds between the
  // passes of 3 MB, one splits; elementwise kernels take nothing else.
  auto toy = ToyTraining::networked(1, 2, four_ms_a_mb);
  toy.gpu.kernel_overhead = Seconds{0.1e-3};
  check_each(toy.run(make<TfCollectiveAllReduce>(TfCollectiveOptions{})),
             18 + 0.1 + 12 + 0.1 + 12 + 0.1 + 1);
}
