#include "strategies/horovod/horovod_queue.hpp"

#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Negotiation takes no time, cycles 5 ms; what fuses has at most 512 bytes, the least that all
/// types of one rank's buffer divide.
HorovodOptions five_ms_cycles(int minor) {
  HorovodOptions options;
  options.version = {0, minor};
  options.fusion_threshold = Bytes{100};
  options.cycle_time = Seconds{5e-3};
  options.request_time = Seconds{0};
  options.local_latency = Seconds{0};
  return options;
}

std::vector<HorovodRequest> request(RequestName name, std::int64_t size) {
  return {{.name = name, .size = Bytes{size}, .tensors = {static_cast<TensorId>(name)}}};
}

template <class Kind>
int count_of(const Operations& operations) {
  int count = 0;
  for (const auto& operation : operations) count += std::holds_alternative<Kind>(operation) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a request waits for the next cycle, all of a cycle travel together", "[horovod]") {
  HorovodQueue queue(five_ms_cycles(28), toy_job({10, 10}));
  Poster poster;
  queue.submit(Seconds{7e-3}, request(0, 40), poster);
  const auto first = poster.take();  // 0 marker, 1 timer
  REQUIRE(first.size() == 2);
  CHECK(std::get<DeviceWork>(first[0]).notify);
  // Cycles start at multiples of 5 ms: the next one after 7 ms is at 10 ms.
  CHECK(std::get<HostWork>(first[1]).thread == HostWork::no_thread);
  CHECK(std::get<HostWork>(first[1]).time.count() == Approx(3e-3));

  queue.submit(Seconds{9e-3}, request(1, 40), poster);  // 2 marker; no second timer
  CHECK(poster.take().size() == 1);
  CHECK(queue.on_done(Seconds{10e-3}, 1, poster).empty());
  const auto cycle = poster.take();  // 3 negotiation
  REQUIRE(cycle.size() == 1);
  CHECK(std::get<HostWork>(cycle[0]).thread == HorovodQueue::thread);

  queue.on_done(Seconds{10e-3}, 3, poster);
  CHECK(poster.take().empty());  // both gradients are still missing
  queue.on_done(Seconds{11e-3}, 0, poster);
  CHECK(poster.take().empty());
  queue.on_done(Seconds{12e-3}, 2, poster);
  const auto copy_in = poster.take();  // 4: two tensors of 40 bytes, read and written, one kernel
  REQUIRE(copy_in.size() == 1);
  CHECK(std::get<DeviceWork>(copy_in[0]).traffic == Bytes{2 * 80});
  CHECK(std::get<DeviceWork>(copy_in[0]).kernels == 1);
  queue.on_done(Seconds{12e-3}, 4, poster);
  const auto reduce = poster.take();  // 5
  REQUIRE(reduce.size() == 1);
  CHECK(std::get<Collective>(reduce[0]).size == Bytes{2 * 48});  // each to a multiple of 16
  CHECK(std::get<Collective>(reduce[0]).ready == Collective::Ready::at_once);
  CHECK(queue.on_done(Seconds{13e-3}, 5, poster).empty());
  CHECK(count_of<DeviceWork>(poster.take()) == 1);  // 6: copy out, which averages too
  CHECK(queue.on_done(Seconds{14e-3}, 6, poster).size() == 2);
}

TEST_CASE("a busy cycle is followed at once by the next when it took longer than the cycle time",
          "[horovod]") {
  auto options = five_ms_cycles(28);
  options.request_time = Seconds{2e-3};  // 4 ranks, empty list and one request: 16 ms
  HorovodQueue queue(options, toy_job({10, 10}));
  Poster poster;
  queue.submit(Seconds{0}, request(0, 40), poster);  // 0 marker, 1 timer to the first cycle at 5 ms
  CHECK(std::get<HostWork>(poster.take()[1]).time.count() == Approx(5e-3));
  queue.on_done(Seconds{5e-3}, 1, poster);
  CHECK(std::get<HostWork>(poster.take()[0]).time.count() == Approx(4 * 2 * 2e-3));  // 2
  queue.submit(Seconds{6e-3}, request(1, 40), poster);                               // 3 marker
  CHECK(poster.take().size() == 1);  // the thread is busy: no timer
  queue.on_done(Seconds{21e-3}, 2, poster);
  const auto next = poster.take();
  REQUIRE(next.size() == 1);  // 4: the next negotiation, at once, 21 ms > 5 ms + 5 ms
  CHECK(std::get<HostWork>(next[0]).thread == HorovodQueue::thread);
}

TEST_CASE("the thread waits for gradients up to 0.22, the stream does from 0.23 on", "[horovod]") {
  const int minor = GENERATE(22, 23);
  HorovodQueue queue(five_ms_cycles(minor), toy_job({10, 10}));
  Poster poster;
  queue.submit(Seconds{0}, request(0, 40), poster);  // 0 marker, 1 timer
  queue.on_done(Seconds{5e-3}, 1, poster);           // 2 negotiation
  queue.on_done(Seconds{5e-3}, 2, poster);           // the gradient is not there
  poster.take();
  queue.submit(Seconds{6e-3}, request(1, 40), poster);
  const auto operations = poster.take();
  // Only a free thread plans its next cycle.
  CHECK(count_of<HostWork>(operations) == (minor == 22 ? 0 : 1));
  CHECK(count_of<Collective>(operations) == 0);
}

TEST_CASE("what comes from the cache needs no lists in the second iteration", "[horovod]") {
  auto options = five_ms_cycles(28);
  options.request_time = Seconds{1e-3};
  HorovodQueue queue(options, toy_job({10}));
  Poster poster;
  queue.submit(Seconds{0}, request(0, 40), poster);  // 0 marker, 1 timer
  poster.take();
  queue.on_done(Seconds{5e-3}, 1, poster);
  CHECK(std::get<HostWork>(poster.take()[0]).time.count() == Approx(4 * 2 * 1e-3));  // 2
  queue.on_done(Seconds{13e-3}, 2, poster);
  queue.on_done(Seconds{13e-3}, 0, poster);  // 3 all-reduce, in place
  queue.on_done(Seconds{14e-3}, 3, poster);  // 4 average
  queue.on_done(Seconds{14e-3}, 4, poster);
  poster.take();
  queue.submit(Seconds{15e-3}, request(0, 40), poster);  // 5 marker; 13 ms + 5 ms: 6 timer
  CHECK(std::get<HostWork>(poster.take()[1]).time.count() == Approx(3e-3));
  queue.on_done(Seconds{18e-3}, 6, poster);
  CHECK(std::get<HostWork>(poster.take()[0]).time == Seconds{0});
}

TEST_CASE("responses share two NCCL streams in turn", "[horovod]") {
  auto options = five_ms_cycles(28);
  options.num_nccl_streams = 2;
  HorovodQueue queue(options, toy_job({75, 75}));
  Poster poster;
  auto both = request(0, 300);
  both.push_back(request(1, 300)[0]);
  queue.submit(Seconds{0}, both, poster);   // 0 marker of both, 1 timer
  queue.on_done(Seconds{1e-3}, 0, poster);  // the gradients are there before the cycle
  queue.on_done(Seconds{5e-3}, 1, poster);  // 2 negotiation
  poster.take();
  queue.on_done(Seconds{5e-3}, 2, poster);
  const auto operations = poster.take();
  REQUIRE(operations.size() == 2);
  CHECK(std::get<Collective>(operations[0]).stream == 1);
  CHECK(std::get<Collective>(operations[1]).stream == 2);
}

TEST_CASE("the thread waits for the end of a gather by MPI, and of no other", "[horovod][gather]") {
  auto options = five_ms_cycles(28);
  options.gather = GENERATE(HorovodGather::mpi, HorovodGather::nccl);
  HorovodQueue queue(options, toy_job({10, 10}));
  Poster poster;
  auto both = request(0, 40);
  both[0].kind = RequestKind::gather;
  both.push_back(request(1, 40)[0]);
  queue.submit(Seconds{0}, both, poster);   // 0 marker of both, 1 timer
  queue.on_done(Seconds{1e-3}, 0, poster);  // the gradients are there
  queue.on_done(Seconds{5e-3}, 1, poster);  // 2 negotiation
  poster.take();
  queue.on_done(Seconds{5e-3}, 2, poster);
  const auto operations = poster.take();
  const bool waits = options.gather == HorovodGather::mpi;
  CHECK(count_of<Messages>(operations) == (waits ? 1 : 0));
  // One NCCL stream: the all-reduce stands behind the all-gather there.
  CHECK(count_of<Collective>(operations) == (waits ? 0 : 1));
  queue.submit(Seconds{6e-3}, request(0, 40), poster);  // a free thread plans its next cycle
  CHECK(count_of<HostWork>(poster.take()) == (waits ? 0 : 1));
}
