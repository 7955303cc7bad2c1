#include "sim/cost/gloo.hpp"

#include <memory>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/host_libraries.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr double rate = 1.25e9;
constexpr double port_latency = 5e-6;
/// A step's: two ports and Gloo's hand-over.
const double latency = 2 * port_latency + gloo_options().constants.step.count();
constexpr double MiB = 1 << 20;

std::shared_ptr<const Cluster> machines(int count) {
  return host_cluster(count, {"eth", "tcp", BytesPerSecond{rate}, Seconds{port_latency}});
}

double gloo_time(int ranks, CollectiveKind kind, double size, Fidelity how = Fidelity::fluid) {
  const auto cluster = machines(ranks);
  return time_of(GlooLibrary(cluster, gloo_options()), *cluster, kind,
                 Bytes{static_cast<std::int64_t>(size)}, 1, how);
}

}  // namespace

TEST_CASE("Gloo hides latency behind segments of 1 MiB", "[cost][gloo]") {
  // 64 MiB on 4 ranks: 64 segments, 16 in a part; a segment takes 0.84 ms, longer than latency.
  // 2 passes of 3 parts, each pass with one latency at its end.
  const double expected = 2 * (3 * 16 * MiB / rate + latency);
  CHECK(gloo_time(4, CollectiveKind::all_reduce, 64 * MiB) == Approx(expected).epsilon(1e-5));
  CHECK(gloo_time(4, CollectiveKind::all_reduce, 64 * MiB, Fidelity::step) ==
        Approx(expected).epsilon(1e-5));
}

TEST_CASE("small parts go in two halves, and each step waits for its latency", "[cost][gloo]") {
  // 4 KiB on 4 ranks: 8 segments of 512 B, two in a part, in flight together.
  const double segment = 512 / rate;
  const double expected = 2 * (3 * (segment + latency) + segment);
  CHECK(gloo_time(4, CollectiveKind::all_reduce, 4096) == Approx(expected).epsilon(1e-5));
}

TEST_CASE("between processes of one machine Gloo's bytes pass the kernel's loopback",
          "[cost][gloo]") {
  // As below, on links that take no time. Each of 4 ranks sends 3 of 4 parts twice.
  const auto cluster = host_cluster(1, {"fast", "ib", BytesPerSecond{100e9}, Seconds{}}, 4);
  const double added = MiB / 14.2e9;
  const double step = gloo_options().constants.step.count();
  const double loopback = gloo_options().constants.loopback.count();
  const double expected = 2 * 0.75 * 64 * MiB / loopback + 3 * 16 * added + step + 3 * 8 * step;
  CHECK(time_of(GlooLibrary(cluster, gloo_options(/*tensors_on_gpu=*/false)), *cluster,
                CollectiveKind::all_reduce, Bytes{static_cast<std::int64_t>(64 * MiB)}, 1,
                Fidelity::fluid, 4) == Approx(expected).epsilon(1e-4));
}

TEST_CASE("where the network outruns a core, Gloo's reduce-scatter waits for the sums",
          "[cost][gloo]") {
  const auto cluster = host_cluster(4, {"fast", "ib", BytesPerSecond{100e9}, Seconds{}});
  // 16 segments in a part. Reduce-scatter: adding one up takes 74 us, longer than on the wire and
  // than the hand-over, which is then hidden. All-gather: 10.5 us on the wire, not hidden.
  const double added = MiB / 14.2e9;
  const double wire = MiB / 100e9;
  const double step = gloo_options().constants.step.count();
  const double expected = 3 * 16 * added + step + 3 * 8 * (wire + step) + wire;
  CHECK(time_of(GlooLibrary(cluster, gloo_options()), *cluster, CollectiveKind::all_reduce,
                Bytes{static_cast<std::int64_t>(64 * MiB)}) == Approx(expected).epsilon(1e-4));
}

TEST_CASE("Gloo's other collectives cost what their code sends", "[cost][gloo]") {
  const double size = 256 * MiB;
  // all_gather: n-1 blocks of size/n. reduce: the same reduced, then n-1 parts into the root.
  CHECK(gloo_time(4, CollectiveKind::all_gather, size) ==
        Approx(3 * size / 4 / rate).epsilon(1e-3));
  CHECK(gloo_time(4, CollectiveKind::reduce, size) == Approx(6 * size / 4 / rate).epsilon(1e-3));
  // The root feeds ranks 1 and 2 at once, at half its rate each; then 1 feeds 3.
  CHECK(gloo_time(4, CollectiveKind::broadcast, size) == Approx(3 * size / rate).epsilon(1e-3));
  // 8 ranks: three children at the root, then two, then one.
  CHECK(gloo_time(8, CollectiveKind::broadcast, size) == Approx(6 * size / rate).epsilon(1e-3));
  CHECK(gloo_time(2, CollectiveKind::broadcast, 1) == Approx(latency + 1 / rate));
}

TEST_CASE("two ranks' all-gather in Gloo takes half as long again as its bytes", "[cost][gloo]") {
  // The later rank's halves go first; its notice for the other's comes behind each: three halves.
  const double half = 2 * MiB / rate;
  CHECK(gloo_time(2, CollectiveKind::all_gather, 8 * MiB) ==
        Approx(3 * half + 2 * latency).epsilon(1e-5));
}

TEST_CASE("Gloo's tensors in host memory are not copied, and its hand-over is an option",
          "[cost][gloo]") {
  const auto cluster = machines(2);
  const Bytes size{64 << 20};
  const auto startup = [&](const GlooOptions& options) {
    const GlooLibrary library(cluster, options);
    const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
    return library.choose(patterns, size).cost.startup.count();
  };
  // From the GPU and back.
  const double copies = 2 * (size / cluster->host_copy_bandwidth({0, 0})).count();
  CHECK(startup(gloo_options()) - startup(gloo_options(false)) == Approx(copies));
  // 8 B on 2 ranks: two steps of one part, whose two segments wait for each other.
  GlooOptions options = gloo_options(false);
  options.constants.step = Seconds{1e-3};
  const double slow =
      time_of(GlooLibrary(cluster, options), *cluster, CollectiveKind::all_reduce, Bytes{8});
  CHECK(slow == Approx(2 * (1e-3 + 2 * port_latency)).epsilon(1e-3));
}

TEST_CASE("two of Gloo's collectives at once share the links", "[cost][gloo]") {
  const auto cluster = machines(4);
  const GlooLibrary library(cluster, gloo_options());
  const Bytes size{64 << 20};
  CHECK(library.concurrent_collectives() == 2);
  const double one = time_of(library, *cluster, CollectiveKind::all_reduce, size);
  const double two = time_of(library, *cluster, CollectiveKind::all_reduce, size, 2);
  CHECK(two == Approx(2 * one).epsilon(1e-3));
}

TEST_CASE("Gloo's one connection a pair limits it where the port does not", "[cost][gloo]") {
  const auto cluster = host_cluster(2, {.name = "eth_100g",
                                        .kind = "tcp",
                                        .bandwidth = BytesPerSecond{10e9},
                                        .latency = {},
                                        .connection_bandwidth = BytesPerSecond{3e9},
                                        .connections = 4});
  const double size = 512 * MiB;
  CHECK(time_of(GlooLibrary(cluster, gloo_options()), *cluster, CollectiveKind::all_reduce,
                Bytes{static_cast<std::int64_t>(size)}) == Approx(size / 3e9).epsilon(1e-3));
}

TEST_CASE("two of Gloo's collectives share one connection a pair", "[cost][gloo]") {
  const auto cluster = host_cluster(2, {.name = "eth_100g",
                                        .kind = "tcp",
                                        .bandwidth = BytesPerSecond{10e9},
                                        .latency = {},
                                        .connection_bandwidth = BytesPerSecond{3e9}});
  const double size = 512 * MiB;
  for (const Fidelity fidelity : {Fidelity::fluid, Fidelity::step}) {
    // 2 x 512 MiB over 3 GB/s, though the port would carry both at once.
    CHECK(time_of(GlooLibrary(cluster, gloo_options()), *cluster, CollectiveKind::all_reduce,
                  Bytes{static_cast<std::int64_t>(size)}, 2,
                  fidelity) == Approx(2 * size / 3e9).epsilon(1e-3));
  }
}

TEST_CASE("Gloo refuses what ProcessGroupGloo does not have", "[cost][gloo][errors]") {
  const auto cluster = machines(2);
  CHECK_THROWS_MATCHES(
      GlooLibrary(cluster, gloo_options())
          .plan(CollectiveKind::reduce_scatter, packed_placement(*cluster, 1)),
      SimulationError,
      Catch::Message("library gloo has no reduce_scatter (ProcessGroupGloo, PyTorch 1.13); "
                     "expected all_reduce, all_gather, broadcast or reduce, or another library"));
}
