#include "sim/cost/nccl_kernel.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

constexpr std::int64_t megabyte = 1'000'000;

/// Bytes through the memory of each GPU for each byte of the collective.
double traffic(CollectiveKind kind, int ranks, NcclProtocol protocol = NcclProtocol::simple) {
  NcclSystem system;
  system.ranks = ranks;
  const KernelUse use =
      nccl_kernel(system, {kind, NcclAlgorithm::ring, protocol, megabyte}, std::nullopt);
  return static_cast<double>(use.traffic.count()) / megabyte;
}

int blocks(int channels, NcclAlgorithm algorithm, std::optional<int> most = {}, int least = 1) {
  NcclSystem system;
  system.channels = channels;
  return nccl_kernel(system, {CollectiveKind::all_reduce, algorithm, {}, megabyte}, most, least)
      .blocks;
}

}  // namespace

TEST_CASE("A ring moves each byte that comes through a buffer, and the rank's own data once",
          "[cost][nccl]") {
  // In chunks of size / n, by the steps of runRing. All-reduce: send 1 (read), n - 2 times receive,
  // reduce, send 3 (write to the buffer, read it, read own), once with a write more 4, n - 2 times
  // receive, copy, send 3, receive 3: 6 n - 4.
  CHECK(traffic(CollectiveKind::all_reduce, 2) == Approx(8.0 / 2));
  CHECK(traffic(CollectiveKind::all_reduce, 8) == Approx(44.0 / 8));
  // Reduce-scatter: 1 + 3 (n - 2) + 4; all-gather: 1 + 3 (n - 2) + 3.
  CHECK(traffic(CollectiveKind::reduce_scatter, 8) == Approx(23.0 / 8));
  CHECK(traffic(CollectiveKind::all_gather, 8) == Approx(22.0 / 8));
}

TEST_CASE("Flags that travel with the data pass the buffers, too", "[cost][nccl]") {
  // 2 x 7/4 through the buffer and 2 beside it.
  CHECK(traffic(CollectiveKind::all_reduce, 8, NcclProtocol::ll) == Approx(2 * 3.5 + 2));
  CHECK(traffic(CollectiveKind::all_reduce, 8, NcclProtocol::ll128) ==
        Approx(128.0 / 120 * 3.5 + 2));
}

TEST_CASE("A kernel has a block for each channel, and each is laid twice", "[cost][nccl]") {
  CHECK(blocks(12, NcclAlgorithm::ring) == 24);  // "24 coll channels" on 8 A100
  CHECK(blocks(1, NcclAlgorithm::ring) == 2);    // one port: GitHub NVIDIA/nccl issue 689
  CHECK(blocks(24, NcclAlgorithm::ring) == 32);
  CHECK(blocks(12, NcclAlgorithm::ring, 4) == 4);
  CHECK(blocks(12, NcclAlgorithm::ring, {}, 16) == 24);
  CHECK(blocks(12, NcclAlgorithm::ring, {}, 32) == 32);
  CHECK(blocks(16, NcclAlgorithm::nvls) == 16);
}
