#include "strategies/all_reduce/bytegrad.hpp"
#include "strategies/peers/decentralized.hpp"
#include "tests/catch.hpp"
#include "tests/train/toy_training.hpp"

// Golden timelines of the six-layer network of toy_training.hpp with Bagua's algorithms, in ms
// since an iteration's start, worked out by hand. T(n MB) = 0.5 + n of an all-reduce, H(n MB) = 0.5
// + n / 2 of all others. One bucket of 6 MB, where nothing else is said.

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr BytesPerSecond four_ms_a_mb{0.25e9};

}  // namespace

TEST_CASE("toy timeline: decentralized, machines average with all", "[timeline][decentralized]") {
  // From 0 on beside the computation: reduce H(6) = 3.5 in the machine, T(6) = 6.5 between the two
  // machines, to 10. Behind backward the broadcast, H(6).
  ToyTraining toy(2, 2);
  check_each(toy.run(make<Decentralized>(DecentralizedOptions{})), 18 + 3.5 + 1);
  SECTION("a slow network") {
    // Three times slower: 10.5 + 19.5 = 30, broadcast 10.5.
    toy.cost = std::make_shared<AlphaBeta>(3);
    check_each(toy.run(make<Decentralized>(DecentralizedOptions{})), 30 + 10.5 + 1);
  }
}

TEST_CASE("toy timeline: decentralized, pairs", "[timeline][decentralized]") {
  // 6 MB to the other and 6 MB back at once, 24 at 4 a MB; then the optimizer. With an interval of
  // 2 every second iteration, from 0 on; warm-up takes iteration 0.
  const auto toy = ToyTraining::networked(1, 4, four_ms_a_mb);
  DecentralizedOptions options;
  options.hierarchical = false;
  options.peers = PeerSelection::shift_one;
  check_each(toy.run(make<Decentralized>(options)), 25);
  SECTION("every second iteration") {
    options.interval = 2;
    check(toy.run(make<Decentralized>(options)), {19, 25, 19, 25});
  }
}

TEST_CASE("toy timeline: decentralized, low precision", "[timeline][decentralized]") {
  // Behind the optimizer, at 19: a byte for each of 1.5 million elements to both neighbours, 3 MB
  // at 4 a MB.
  DecentralizedOptions options;
  options.hierarchical = false;
  options.low_precision = true;
  options.peers = PeerSelection::ring;
  check_each(ToyTraining::networked(1, 4, four_ms_a_mb).run(make<Decentralized>(options)), 19 + 12);
}

TEST_CASE("toy timeline: bytegrad, a bucket a tensor", "[timeline][bytegrad]") {
  // Reduce H(1) = 1 in the machine, all-to-all and all-gather of a quarter of the bytes, H(0.25) =
  // 0.625 each, broadcast 1: 3.25 a bucket, one after the other from 8 on, to 27.5. The optimizer.
  // Ranges, 8 bytes a chunk, take 0.1 us in all.
  const ByteGradOptions options{.bucket = Bytes{1'000'000}};
  check_each(ToyTraining(2, 2).run(make<ByteGrad>(options)), 8 + 6 * 3.25 + 1 + 0.0001);
}
