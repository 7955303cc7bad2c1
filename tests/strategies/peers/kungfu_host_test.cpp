#include "strategies/peers/kungfu_host.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr BytesPerSecond one{1e9};
constexpr BytesPerSecond fast{1e12};

JobView on_machines(std::vector<int> machine_of) {
  return toy_job_on(std::move(machine_of), {10});
}

}  // namespace

TEST_CASE("a process alone on its machine adds at a core's rate, however many cores there are",
          "[kungfu]") {
  // As before processes shared a machine: n arrays of a byte take n / sum_rate.
  for (const int cores : {1, 2, 40, 100'000}) {
    const KungfuHost host({.sum_rate = one, .cores = cores}, on_machines({0, 1}));
    for (const int arrays : {1, 3}) {
      CHECK(host.sums(1, arrays, 1).longer() == Approx(arrays / one.count()));
    }
  }
}

TEST_CASE("a process serves as many sockets at once as it has cores", "[kungfu]") {
  // 8 processes share 40 cores, 5 each: up to 5 sockets take as long as one, 10 twice as long.
  const KungfuHost host({.socket_rate = one, .cores = 40, .memory_rate = fast},
                        on_machines({0, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(host.cores(0) == 5);
  CHECK(host.sockets(0, 1, 1).longer() == Approx(1e-9));
  CHECK(host.sockets(0, 5, 1).longer() == Approx(1e-9));
  CHECK(host.sockets(0, 10, 1).longer() == Approx(2e-9));
}

TEST_CASE("processes with less than a core each work at their share of it", "[kungfu]") {
  const KungfuHost host({.sum_rate = one, .socket_rate = one, .cores = 2, .memory_rate = fast},
                        on_machines({0, 0, 0, 0, 1}));
  CHECK(host.sums(0, 1, 1).longer() == Approx(2e-9));
  CHECK(host.sockets(0, 3, 1).longer() == Approx(3 * 2e-9));
  CHECK(host.sums(1, 1, 1).longer() == Approx(1e-9));  // the other machine has one process
}

TEST_CASE("processes that work at the same time share the machine's memory", "[kungfu]") {
  // A byte at an end of a socket is 2 accesses, a byte of a sum 3: at 1 GB/s 2 and 3 ns, times the
  // processes at work; the cores would do.
  const KungfuHost host({.sum_rate = fast, .socket_rate = fast, .cores = 40, .memory_rate = one},
                        on_machines({0, 0, 0, 0}));
  CHECK(host.sockets(0, 1, 1).longer() == Approx(2e-9));
  CHECK(host.sockets(0, 1, 3).longer() == Approx(6e-9));
  CHECK(host.sums(0, 2, 2).longer() == Approx(12e-9));
}

TEST_CASE("where few workers stand for many, all of them share the cores", "[kungfu]") {
  auto job = on_machines({0, 1});
  job.machine_of_all = {0, 0, 0, 0, 1, 1, 1, 1};
  const KungfuHost host({.cores = 8}, job);
  CHECK(host.processes(1) == 4);
  CHECK(host.cores(1) == 2);
}
