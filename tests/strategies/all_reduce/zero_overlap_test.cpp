#include "strategies/all_reduce/zero_overlap.hpp"

#include "sim/core/refusal.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Ranks, and elements, of the parts of each bucket.
using Parts = std::vector<std::vector<std::pair<int, std::int64_t>>>;

Parts parts(const JobView& job, const std::vector<std::vector<TensorId>>& buckets, bool shard) {
  Parts result;
  for (const auto& bucket : parts_of_buckets(job, buckets, shard)) {
    result.emplace_back();
    for (const auto& part : bucket) result.back().emplace_back(part.rank, part.elements);
  }
  return result;
}

/// Each tensor a bucket, of a job whose optimizer takes 60 s.
Ddp overlapped(ZeroHook hook, const std::vector<std::int64_t>& elements, bool static_graph = false,
               bool on_gpu = true) {
  auto job = toy_job(elements);
  job.optimizer = Seconds{60};
  job.collectives_on_gpu = on_gpu;
  return {{.version = {1, 10},
           .bucket_cap = Bytes{4},
           .first_bucket_cap = Bytes{4},
           .gradient_as_bucket_view = true,
           .static_graph = static_graph,
           .optimizer = DdpOptimizer::zero_redundancy,
           .overlap_with_ddp = hook},
          job};
}

double side_seconds(const Operations& operations) {
  double seconds = 0;
  for (const auto& operation : operations) {
    const auto* work = std::get_if<DeviceWork>(&operation);
    if (work != nullptr && work->stream == DeviceStream::side) seconds += work->time.count();
  }
  return seconds;
}

}  // namespace

TEST_CASE("overlapped ZeRO gives whole buckets to ranks in turns", "[ddp][zero]") {
  auto job = toy_job({1, 2, 3});
  job.world_size = 2;
  CHECK(parts(job, {{2}, {1}, {0}}, false) == Parts{{{0, 3}}, {{1, 2}}, {{0, 1}}});
}

TEST_CASE("overlapped ZeRO cuts buckets before a rank's mean share is reached", "[ddp][zero]") {
  // 16 elements on 2 ranks: 8 each. The small bucket first, {4, 2} < 8: rank 0. Of the other one 5
  // and 3 would reach 8: 5 to rank 1, which has nothing; 3 + 2 to the one that is left, rank 0.
  auto job = toy_job({5, 3, 2, 4, 2});
  job.world_size = 2;
  CHECK(parts(job, {{0, 1, 2}, {3, 4}}, true) == Parts{{{0, 5}, {1, 5}}, {{0, 6}}});
}

TEST_CASE("overlapped ZeRO refuses a bucket of more parts than ranks", "[ddp][zero]") {
  // 12 elements on 2 ranks: 6 each. 5 | 2 would reach 6 with what follows: 5, 2, 5 are three parts.
  auto job = toy_job({5, 2, 5});
  job.world_size = 2;
  CHECK_THROWS_AS(parts_of_buckets(job, {{0, 1, 2}}, true), UnsupportedConfiguration);
}

TEST_CASE("overlapped ZeRO steps behind backward, ranks beside each other", "[ddp][zero]") {
  // Of 6 elements a bucket of 3 takes 30 s, of 2 20 s, of 1 10 s, each on a rank of its own.
  Ddp ddp = overlapped(ZeroHook::last_bucket, {1, 2, 3});
  ddp.on_event(Seconds{}, IterationStart{2});
  // 0 divide, 1 flag, 2 all-reduce.
  CHECK(ddp.on_event(Seconds{}, HookFired{.tensor = 2}).size() == 3);
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});  // 3 divide, 4 all-reduce
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});  // 5 divide, 6 all-reduce, 7 backward's end
  const auto end = ddp.on_event(Seconds{}, BackwardDone{});  // 8 to 11
  CHECK(std::get<Gate>(end.front()).until == std::vector<OperationId>{1});
  REQUIRE(end.size() == 4);
  CHECK(ddp.on_event(Seconds{90}, OperationDone{2}).empty());  // backward goes on
  CHECK(ddp.on_event(Seconds{95}, OperationDone{4}).empty());
  // Both at once from 100: 30 s for the first, and the second ends before that.
  const auto steps = ddp.on_event(Seconds{100}, OperationDone{7});  // 12, 13
  REQUIRE(steps.size() == 2);
  CHECK(std::get<DeviceWork>(steps[0]).time.count() == Approx(30));
  CHECK(std::get<DeviceWork>(steps[1]).time.count() == Approx(0));
  // The third's from 125 to 135: 5 s behind the first's end at 130.
  CHECK(side_seconds(ddp.on_event(Seconds{125}, OperationDone{6})) == Approx(5));  // 14
  CHECK(collective_sizes(ddp.on_event(Seconds{130}, OperationDone{12})) ==
        std::vector<std::int64_t>{12});                                                // 15
  CHECK(collective_sizes(ddp.on_event(Seconds{130}, OperationDone{13})).size() == 1);  // 16
  CHECK(collective_sizes(ddp.on_event(Seconds{135}, OperationDone{14})).size() == 1);  // 17
  CHECK(ddp.on_event(Seconds{140}, OperationDone{15}).empty());
  CHECK(ddp.on_event(Seconds{141}, OperationDone{16}).empty());
  const auto last = ddp.on_event(Seconds{142}, OperationDone{17});
  CHECK(std::get<Raise>(last.at(0)).flag == 1);
}

TEST_CASE("a rank's steps follow each other", "[ddp][zero]") {
  // Five buckets on four ranks, 12 s each: the fifth is rank 0's second one.
  Ddp ddp = overlapped(ZeroHook::last_bucket, {1, 1, 1, 1, 1});
  ddp.on_event(Seconds{}, IterationStart{2});
  std::vector<OperationId> reduced;
  OperationId next = 0;
  for (int tensor = 4; tensor >= 0; --tensor) {
    for (const auto& operation : ddp.on_event(Seconds{}, HookFired{.tensor = tensor})) {
      if (std::holds_alternative<Collective>(operation)) reduced.push_back(next);
      ++next;
    }
  }
  ddp.on_event(Seconds{}, BackwardDone{});
  double seconds = side_seconds(ddp.on_event(Seconds{10}, OperationDone{next - 1}));
  for (const OperationId id : reduced) {
    seconds += side_seconds(ddp.on_event(Seconds{10}, OperationDone{id}));
  }
  CHECK(reduced.size() == 5);
  CHECK(seconds == Approx(24));
}

TEST_CASE("interleaved, a bucket is broadcast before the next one is reduced", "[ddp][zero]") {
  Ddp ddp = overlapped(ZeroHook::interleaved, {1, 2});
  ddp.on_event(Seconds{}, IterationStart{2});
  ddp.on_event(Seconds{}, HookFired{.tensor = 1});  // 0 divide, 1 flag, 2 marker, 3 flag
  CHECK(collective_sizes(ddp.on_event(Seconds{1}, OperationDone{2})) ==
        std::vector<std::int64_t>{8});              // 4
  ddp.on_event(Seconds{}, HookFired{.tensor = 0});  // 5 divide, 6 marker, 7 flag
  CHECK(ddp.on_event(Seconds{2}, OperationDone{6}).empty());
  CHECK(side_seconds(ddp.on_event(Seconds{3}, OperationDone{4})) == Approx(40));  // 8
  // The largest of its parts takes all its time from backward: nothing is left to pass, 9.
  const auto rest = ddp.on_event(Seconds{43}, OperationDone{8});
  CHECK(std::get<HostWork>(rest.at(0)).time.count() == Approx(0));
  const auto stepped = ddp.on_event(Seconds{43}, OperationDone{9});
  REQUIRE(stepped.size() == 3);
  CHECK(std::get<Raise>(stepped[0]).flag == 3);
  CHECK(std::get<Collective>(stepped[1]).kind == CollectiveKind::broadcast);
  CHECK(std::get<Collective>(stepped[2]).kind == CollectiveKind::all_reduce);
  const auto end = ddp.on_event(Seconds{43}, BackwardDone{});
  REQUIRE(end.size() == 3);  // the last bucket's result waits for all broadcasts
  CHECK(std::get<Gate>(end[0]).until == std::vector<OperationId>{3});
  CHECK(std::get<Gate>(end[1]).until == std::vector<OperationId>{1});
  CHECK(std::get<Gate>(end[2]).until == std::vector<OperationId>{7});
}

TEST_CASE("interleaved steps take as much of the GPUs as the busiest rank's", "[ddp][zero]") {
  // Buckets of 20, 10 and 30 s on three ranks: late by 20 in the end of the first, not more after
  // the second, which takes its 10 s elsewhere, and 30 after the third: 10 more, and 20 elsewhere.
  Ddp ddp = overlapped(ZeroHook::interleaved, {3, 1, 2});
  ddp.on_event(Seconds{}, IterationStart{2});
  for (const int tensor : {2, 1, 0})
    ddp.on_event(Seconds{}, HookFired{.tensor = tensor});  // 0 to 9
  ddp.on_event(Seconds{}, BackwardDone{});                 // 10 to 13
  for (const OperationId marker : {2, 5, 8}) ddp.on_event(Seconds{}, OperationDone{marker});  // 14
  CHECK(side_seconds(ddp.on_event(Seconds{}, OperationDone{14})) == Approx(20));              // 15
  ddp.on_event(Seconds{}, OperationDone{15});  // 16 the rest
  ddp.on_event(Seconds{}, OperationDone{16});  // 17 flag, 18 broadcast, 19 all-reduce
  const auto second = ddp.on_event(Seconds{}, OperationDone{19});  // 20
  CHECK(side_seconds(second) == 0);
  CHECK(std::get<HostWork>(second.at(0)).time.count() == Approx(10));
  ddp.on_event(Seconds{}, OperationDone{20});                                     // 21 to 23
  CHECK(side_seconds(ddp.on_event(Seconds{}, OperationDone{23})) == Approx(10));  // 24
  const auto rest = ddp.on_event(Seconds{}, OperationDone{24});
  CHECK(std::get<HostWork>(rest.at(0)).time.count() == Approx(20));
}

TEST_CASE("overlapped ZeRO updates nothing in the first two iterations, three of a static graph",
          "[ddp][zero]") {
  const bool static_graph = GENERATE(false, true);
  Ddp ddp = overlapped(GENERATE(ZeroHook::last_bucket, ZeroHook::interleaved), {10}, static_graph);
  const int first = static_graph ? 3 : 2;
  CHECK(ddp.phasing().steady_from == first);
  for (int iteration = 0; iteration <= first; ++iteration) {
    ddp.on_event(Seconds{}, IterationStart{iteration});
    ddp.on_event(Seconds{}, HookFired{.tensor = 0});
    // The wait for the bucket, and from then on the one for the broadcasts.
    const auto end = ddp.on_event(Seconds{}, BackwardDone{});
    const auto gates = std::ranges::count_if(
        end, [](const Operation& one) { return std::holds_alternative<Gate>(one); });
    CHECK(gates == (iteration < first ? 1 : 2));
  }
}

TEST_CASE("overlapped ZeRO needs NCCL", "[ddp][zero]") {
  CHECK_THROWS_AS(overlapped(ZeroHook::last_bucket, {10}, false, false), UnsupportedConfiguration);
}
