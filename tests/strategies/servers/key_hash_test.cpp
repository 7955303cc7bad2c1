#include "strategies/servers/key_hash.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Ranks on `machines` machines, one each, and a server on each number of `server_machine`.
JobView job_with_servers(int machines, std::vector<int> server_machine) {
  JobView job = toy_job({1});
  job.world_size = machines;
  job.machines = machines;
  for (int machine = 0; machine < machines; ++machine) job.machine_of.push_back(machine);
  job.server_machine = std::move(server_machine);
  return job;
}

}  // namespace

TEST_CASE("djb2 is 33 times the hash so far plus the next digit, from 5381", "[byteps]") {
  // "0": 5381 * 33 + 48; "12": (5381 * 33 + 49) * 33 + 50.
  CHECK(djb2(0) == 177621);
  CHECK(djb2(12) == 177622ULL * 33 + 50);
}

TEST_CASE("a key goes to the server that its hash names", "[byteps]") {
  const ServerLayout layout(job_with_servers(3, {0, 1, 2}));
  CHECK(server_of(0, {}, layout) == 177621 % 3);
  // naive: (declared number + part) * 9973; key 5 << 16 | 2.
  const std::uint64_t key = (5ULL << 16) + 2;
  CHECK(server_of(key, {.function = "naive"}, layout) == (5 + 2) * 9973 % 3);
  // sdbm of "7", ASCII 55: 0 * 65599 + 55.
  CHECK(server_of(7, {.function = "sdbm"}, layout) == 55 % 3);
}

TEST_CASE("mixed mode gives separate servers 2M(N-1) / (N(N+M) - 2M) of the keys", "[byteps]") {
  // N = 4, M = 2: 2*2*3 / (4*6 - 4) = 12 / 20.
  CHECK(separate_share(4, 2) == Approx(0.6));
  CHECK(separate_share(4, 0) == Approx(0.0));
  // As many separate as workers, N = M = 4: 24 / (32 - 8), all.
  CHECK(separate_share(4, 4) == Approx(1.0));

  // Machines 4 and 5 hold no ranks. 101 slots, those below 0.6 * 101 go there; over many keys the
  // share is that of the slots, 61 / 101, within what 4000 draws allow (4 sigma: 3.1 %).
  const ServerLayout layout(job_with_servers(4, {4, 5, 0, 1, 2, 3}));
  int apart = 0;
  constexpr int keys = 4000;
  for (int key = 0; key < keys; ++key) {
    const int server =
        server_of(static_cast<std::uint64_t>(key) << 16U, {.function = "mixed"}, layout);
    REQUIRE(server >= 0);
    REQUIRE(server < 6);
    apart += layout.colocated(server) ? 0 : 1;
  }
  CHECK(static_cast<double>(apart) / keys == Approx(61.0 / 101).margin(0.031));
}
