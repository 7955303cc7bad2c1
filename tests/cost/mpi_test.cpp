#include "sim/cost/mpi.hpp"

#include <memory>
#include <string>

#include "tests/catch.hpp"
#include "tests/cost/host_cluster.hpp"
#include "tests/cost/host_libraries.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr double rate = 1.25e9;
constexpr double port_latency = 10e-6;
constexpr double alpha = 2 * port_latency;
const double entry = mpi_options().constants.entry.count();
const double held = mpi_options().constants.long_message.count();
const double copy = mpi_options().constants.copy_per_byte.count();
constexpr double sum = 1 / 14.2e9;
constexpr double segment = 65536;  // of the kernel

std::shared_ptr<const Cluster> machines(int count) {
  return host_cluster(count, {"eth", "tcp", BytesPerSecond{rate}, Seconds{port_latency}});
}

double all_reduce_time(int ranks, std::int64_t size, const std::string& algorithm) {
  const auto cluster = machines(ranks);
  const MpiLibrary library(cluster, mpi_options(algorithm));
  return time_of(library, *cluster, CollectiveKind::all_reduce, Bytes{size});
}

}  // namespace

TEST_CASE("Open MPI 4.1 decides all-reduce by ranks and bytes", "[cost][mpi]") {
  const auto takes = [](int ranks, std::int64_t size, MpiDecisions version) {
    return std::string(mpi_algorithm(version, CollectiveKind::all_reduce, ranks, Bytes{size}));
  };
  constexpr auto now = MpiDecisions::since_4_1;
  // coll_tuned_decision_fixed.c, 4.1, commutative.
  CHECK(takes(2, 4095, now) == "recursive_doubling");
  CHECK(takes(2, 65'536, now) == "segmented_ring");
  CHECK(takes(3, 262'144, now) == "rabenseifner");
  CHECK(takes(4, 8191, now) == "recursive_doubling");
  CHECK(takes(15, 8192, now) == "rabenseifner");
  CHECK(takes(100, 262'143, now) == "recursive_doubling");
  CHECK(takes(100'000, 20'000, now) == "recursive_doubling");
  // Before: recursive doubling below 10 000 B, ring up to 1 MiB a rank, then in segments.
  constexpr auto before = MpiDecisions::before_4_1;
  CHECK(takes(4, 9999, before) == "recursive_doubling");
  CHECK(takes(4, 4 << 20, before) == "ring");
  CHECK(takes(4, (4 << 20) + 1, before) == "segmented_ring");
}

TEST_CASE("Open MPI's rings need an element a rank", "[cost][mpi]") {
  // coll_base_allreduce.c: count < ranks is done by recursive doubling.
  const auto cluster = machines(4);
  for (const char* ring : {"ring", "segmented_ring"}) {
    const MpiLibrary library(cluster, mpi_options(ring));
    const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
    CHECK(library.choose(patterns, Bytes{12}).cost.algorithm == "recursive_doubling");
    CHECK(library.choose(patterns, Bytes{16}).cost.algorithm == ring);
  }
}

TEST_CASE("decisions of collectives of parts count one rank's part", "[cost][mpi]") {
  const auto takes = [](CollectiveKind kind, int ranks, std::int64_t size) {
    return std::string(mpi_algorithm(MpiDecisions::since_4_1, kind, ranks, Bytes{size}));
  };
  CHECK(takes(CollectiveKind::all_gather, 40, 40 * 1023) == "recursive_doubling");
  CHECK(takes(CollectiveKind::all_gather, 40, 40 * 1024) == "ring");
  // Before 4.1 the whole counts, and 50 000 B are many.
  const auto took = [](std::int64_t size) {
    return mpi_algorithm(MpiDecisions::before_4_1, CollectiveKind::all_gather, 8, Bytes{size});
  };
  CHECK(took(49'992) == "recursive_doubling");
  CHECK(took(50'000) == "ring");
  CHECK(takes(CollectiveKind::all_to_all, 4, 4 * 524'288) == "pairwise");
  CHECK(takes(CollectiveKind::all_to_all, 4, 4 * 1'048'576) == "direct");
  CHECK(takes(CollectiveKind::reduce_scatter, 8, 262'143) == "halving_doubling");
  CHECK(takes(CollectiveKind::reduce_scatter, 8, 262'144) == "ring");
}

TEST_CASE("every algorithm that Open MPI may take is planned", "[cost][mpi]") {
  for (const int ranks : {2, 3, 5, 8}) {
    const auto cluster = machines(ranks);
    const MpiLibrary library(cluster, mpi_options());
    for (const CollectiveKind kind : collective_kinds()) {
      const auto patterns = library.plan(kind, packed_placement(*cluster, 1));
      for (std::int64_t size = 1; size < (1 << 26); size *= 3) {
        INFO(name_of(kind) << " of " << size << " on " << ranks);
        const auto [pattern, cost] = library.choose(patterns, Bytes{size});
        REQUIRE(pattern < patterns.size());
        CHECK(patterns[pattern].connections == 1);
        CHECK(cost.startup.count() > 0);
      }
    }
  }
}

TEST_CASE("Open MPI's ring pays for every step: copies, sums, and above 64 KiB a round trip",
          "[cost][mpi]") {
  // 64 KiB on 4 ranks: 6 steps of 16 KiB, eager; three of them add up.
  constexpr double part = 16384;
  CHECK(all_reduce_time(4, 65'536, "ring") ==
        Approx(entry + 6 * (alpha + held + part / rate + part * copy) + 3 * part * sum));
  // 1 MiB: parts of 256 KiB wait for the receiver first; copies hide behind the wire but for the
  // first segment's.
  constexpr double large = 262'144;
  CHECK(all_reduce_time(4, 1 << 20, "ring") ==
        Approx(entry + 6 * (3 * alpha + held + large / rate + segment * copy) + 3 * large * sum));
}

TEST_CASE("two ranks' long messages to each other follow one another on their connection",
          "[cost][mpi]") {
  // 4 MiB on 2 ranks: 2 steps of 2 MiB both ways. The second direction waits, but for a segment.
  constexpr double part = 2 << 20;
  const double step = 3 * alpha + held + segment * copy + (2 * part - segment) / rate;
  CHECK(all_reduce_time(2, 4 << 20, "ring") == Approx(entry + 2 * step + part * sum));
  // A ring of three has a connection for each direction.
  constexpr double third = (3 << 20) / 3.0;
  CHECK(all_reduce_time(3, 3 << 20, "ring") ==
        Approx(entry + 4 * (3 * alpha + held + segment * copy + third / rate) + 2 * third * sum));
}

TEST_CASE("pairs that share a port fill each other's gaps, and a machine copies all of its own",
          "[cost][mpi]") {
  const PortSpec port{"eth", "tcp", BytesPerSecond{rate}, Seconds{port_latency}};
  const auto cluster = host_cluster(2, port, 2);
  MpiOptions options = mpi_options("recursive_doubling");
  options.tensors_on_gpu = false;
  const MpiLibrary library(cluster, options);
  // 1 MiB on 2 machines of 2 ranks: an exchange inside the machines, one of two pairs across.
  constexpr double size = 1 << 20;
  const double inside = 2 * alpha + held + size * copy + size * sum;
  const double across = 3 * alpha + held + segment * copy + size * sum + 2 * size / rate;
  CHECK(time_of(library, *cluster, CollectiveKind::all_reduce, Bytes{1 << 20}, 1, Fidelity::fluid,
                2) == Approx(entry + inside + across).epsilon(1e-4));
}

TEST_CASE("recursive doubling adds up the whole in every exchange", "[cost][mpi]") {
  const auto expected = [](double size) {
    return entry + 3 * (alpha + size / rate + size * copy + size * sum);
  };
  CHECK(all_reduce_time(8, 1448, "recursive_doubling") == Approx(expected(1448)));
  // Longer than a frame of Ethernet.
  CHECK(all_reduce_time(8, 4096, "recursive_doubling") == Approx(expected(4096) + 3 * held));
  // A third rank joins one of the two first, and gets the sum back at the end: nothing is added.
  CHECK(all_reduce_time(3, 1448, "recursive_doubling") == Approx(expected(1448) - 1448 * sum));
  // 64 MiB stay in no cache: 3.8 GB/s.
  constexpr double large = 64 << 20;
  const double step = 3 * alpha + held + segment * copy + (2 * large - segment) / rate;
  CHECK(all_reduce_time(2, 64 << 20, "recursive_doubling") == Approx(entry + step + large / 3.8e9));
}

TEST_CASE("a segmented ring hides sums behind the next segment", "[cost][mpi]") {
  // 64 MiB on 2 ranks: 2 steps of 32 segments of 1 MiB; of the sums the last segment's is left.
  // Each has a first segment of the kernel, and beyond it waits for the other direction.
  constexpr double part = 32 << 20;
  const double step = 3 * alpha + held + 32 * segment * copy + (2 * part - 32 * segment) / rate;
  CHECK(all_reduce_time(2, 64 << 20, "segmented_ring") ==
        Approx(entry + 2 * step + (1 << 20) * sum));
}

TEST_CASE("Open MPI's tensors in host memory are not copied", "[cost][mpi]") {
  const auto cluster = machines(4);
  const Bytes size{1 << 20};
  const auto startup = [&](const MpiOptions& options) {
    const MpiLibrary library(cluster, options);
    const auto patterns = library.plan(CollectiveKind::all_reduce, packed_placement(*cluster, 1));
    return library.choose(patterns, size).cost.startup.count();
  };
  // From the GPU and back.
  const double copies = 2 * (size / cluster->host_copy_bandwidth({0, 0})).count();
  MpiOptions on_host = mpi_options();
  on_host.tensors_on_gpu = false;
  CHECK(startup(mpi_options()) - startup(on_host) == Approx(copies));
}

TEST_CASE("Open MPI moves one collective at a time and leaves the GPU alone", "[cost][mpi]") {
  const MpiLibrary library(machines(2), mpi_options());
  CHECK(library.concurrent_collectives() == 1);
  CHECK_FALSE(library.on_gpu());
}
