#include "sim/core/statistics.hpp"
#include "strategies/servers/ps_async.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"
#include "tests/train/toy_training.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr int workers = 8;
constexpr BytesPerSecond link{1e9};
/// Each worker sends and fetches 6 MB an iteration, through one link of the server.
constexpr double bound = workers * 6e6 / 1e9;

/// Of one iteration, of the first ones.
double seconds_of(bool apart) {
  auto toy = ToyTraining::networked(1, workers, link, 1);
  toy.iterations = 10;
  PsAsyncOptions options;
  options.pull_at_once = true;
  options.servers.in_flight = 1;
  options.servers.message = Bytes{1'000'000};
  options.servers.server_cpu = toy_cpu(core_sum_rate);
  const auto strategy = make<PsAsync>(options);
  const auto library = toy.library();
  Job job = toy.job(strategy, library);
  job.jitter = {.rank = 0.01, .iteration = 0.005, .layer = 0};
  job.run.start_apart = apart;
  return mean(simulate(job).iteration_s);
}

}  // namespace

TEST_CASE(
    "workers that begin apart keep a server's link busy, where those that begin together "
    "leave it idle at once",
    "[train][apart]") {
  CHECK(seconds_of(true) == Approx(bound).epsilon(0.05));
  CHECK(seconds_of(false) > 1.1 * bound);
}
