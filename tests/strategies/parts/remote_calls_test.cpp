#include "strategies/parts/remote_calls.hpp"

#include "strategies/servers/ps_async.hpp"
#include "strategies/servers/ps_sync.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// A tensor of 4000 bytes, two machines of two ranks, one server on the first machine.
JobView served_job() {
  return toy_job_on({0, 0, 1, 1}, {1000}, {0});
}

/// A byte takes 1 us to send and 2 us to receive, a call 100 us, on two threads.
ParameterServerOptions slow_calls() {
  ParameterServerOptions options;
  options.calls = {.threads = 2,
                   .send_rate = BytesPerSecond{1e6},
                   .receive_rate = BytesPerSecond{0.5e6},
                   .call = Seconds{100e-6}};
  return options;
}

double work_of(const Operation& operation) {
  return std::get<HostWork>(operation).time.count();
}

/// What moves the gradient to the server, from its hook on.
Operations push_of(ServedWorker worker) {
  PsSync strategy({.servers = slow_calls(), .worker = worker}, served_job());
  strategy.on_event(Seconds{}, IterationStart{0});       // 0: the flag
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});  // 1: ready
  strategy.on_event(Seconds{}, OperationDone{1});        // 2: copy to host
  auto operations = strategy.on_event(Seconds{}, OperationDone{2});
  if (worker != ServedWorker::machine) return operations;
  return strategy.on_event(Seconds{}, OperationDone{3});  // 3: the local sum
}

}  // namespace

TEST_CASE("calls keep a process busy by their number and bytes, over its threads", "[rpc]") {
  const RemoteCalls calls = slow_calls().calls;
  // 3 calls of 100 us and 8 bytes of 1 us, or of 2 us, on two threads.
  CHECK(calls.sending(3, Bytes{8}).count() == Approx((300e-6 + 8e-6) / 2));
  CHECK(calls.receiving(3, Bytes{8}).count() == Approx((300e-6 + 16e-6) / 2));
  CHECK_FALSE(RemoteCalls{}.cost());
}

TEST_CASE("a push takes the sender's and the server's CPU, by how many share a process", "[rpc]") {
  // One call of 4000 bytes: sent in (0.1 + 4) / 2 ms, received in (0.1 + 8) / 2 ms.
  const double sent = 4.1e-3 / 2;
  const double received = 8.1e-3 / 2;
  struct Case {
    ServedWorker worker;
    double in_process;  ///< pushers of a worker's process
    double all;
  };
  // A machine's own server needs no call, so one of two machines calls.
  for (const auto& [worker, in_process, all] :
       {Case{ServedWorker::gpu, 1, 4}, Case{ServedWorker::tower, 2, 4},
        Case{ServedWorker::machine, 1, 1}}) {
    const auto push = push_of(worker);
    REQUIRE(push.size() == 3);
    CHECK(work_of(push[0]) == Approx(in_process * sent));
    CHECK(work_of(push[1]) == Approx(all * received));
    CHECK(std::get<HostWork>(push[0]).thread != std::get<HostWork>(push[1]).thread);
    CHECK(std::holds_alternative<Messages>(push[2]));
  }
}

TEST_CASE("a worker takes variables over one after the other", "[rpc]") {
  PsSync strategy({.servers = slow_calls(),
                   .worker = ServedWorker::machine,
                   .barrier = false,
                   .variable_time = Seconds{5e-3}},
                  served_job());
  strategy.on_event(Seconds{}, IterationStart{0});       // 0: the flag
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});  // 1: ready
  // The copy, the local sum, the push (3: sends, receives, moves), sum and update.
  for (const OperationId done : {1, 2, 3, 4, 5, 6}) {
    strategy.on_event(Seconds{}, OperationDone{done});
  }
  const auto pull = strategy.on_event(Seconds{}, OperationDone{7});
  REQUIRE(pull.size() == 3);
  // Sent in (0.1 + 4) / 2 ms; received in (0.1 + 8) / 2 ms, and taken over in 5 ms.
  CHECK(work_of(pull[0]) == Approx(4.1e-3 / 2));
  CHECK(work_of(pull[1]) == Approx(8.1e-3 / 2 + 5e-3));
}

TEST_CASE("a gradient is at the server when links and both processes are done with it", "[rpc]") {
  PsSync strategy({.servers = slow_calls()}, served_job());
  strategy.on_event(Seconds{}, IterationStart{0});
  strategy.on_event(Seconds{}, HookFired{.tensor = 0});
  strategy.on_event(Seconds{}, OperationDone{1});
  REQUIRE(strategy.on_event(Seconds{}, OperationDone{2}).size() == 3);  // 3 to 5
  CHECK(strategy.on_event(Seconds{}, OperationDone{5}).empty());
  CHECK(strategy.on_event(Seconds{}, OperationDone{3}).empty());
  const auto sum = strategy.on_event(Seconds{}, OperationDone{4});
  REQUIRE(sum.size() == 1);
  CHECK(std::get<HostWork>(sum[0]).label == "sum and update");
}

TEST_CASE("asynchronous workers each have their own process, the server serves them all", "[rpc]") {
  PsAsync strategy({.servers = slow_calls(), .bound = {}}, served_job());
  const auto first = strategy.on_event(Seconds{}, IterationStart{0, 1});
  const auto second = strategy.on_event(Seconds{}, IterationStart{0, 2});
  // Flags: applied, pulled; the server's sending, the worker's receiving, the message.
  REQUIRE(first.size() == 5);
  CHECK(work_of(first[2]) == Approx(4.1e-3 / 2));
  CHECK(work_of(first[3]) == Approx(8.1e-3 / 2));
  const auto thread = [](const Operation& operation) {
    return std::get<HostWork>(operation).thread;
  };
  CHECK(thread(first[2]) == thread(second[2]));
  CHECK(thread(first[3]) != thread(second[3]));
}
