#include "strategies/compression/systems.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/compression/measured_costs.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/compression/compression_job.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

TEST_CASE("groups close with the tensor that reaches the threshold, in reverse order",
          "[compression][grouped]") {
  // Elements 10, 20, 30, 5 from the last: 5 + 30 >= 35; 20 + 10 < 35.
  const auto job = toy_job({10, 20, 30, 5});
  CHECK(groups_by_elements(job, 35) == TensorGroups{{3, 2}, {1, 0}});
  CHECK(groups_by_elements(job, 0) == TensorGroups{{3}, {2}, {1}, {0}});
}

TEST_CASE("a group is reduced from the hook of its last gradient", "[compression][grouped]") {
  const auto job = toy_job({10, 20, 30});
  Grouped grouped([](int) { return TensorGroups{{2, 1}, {0}}; }, {}, job);
  grouped.on_event(Seconds{}, IterationStart{0});
  CHECK(collective_sizes(grouped.on_event(Seconds{}, HookFired{.tensor = 1})).empty());
  CHECK(collective_sizes(grouped.on_event(Seconds{}, HookFired{.tensor = 2})) ==
        std::vector<std::int64_t>{200});
  const auto alone = grouped.on_event(Seconds{}, HookFired{.tensor = 0});
  CHECK(alone.size() == 1);  // a group of one needs no buffer
  // 0 copy, 1 copy, 2 all-reduce, 3 all-reduce.
  CHECK(std::get<Gate>(grouped.on_event(Seconds{}, BackwardDone{}).back()).until ==
        std::vector<OperationId>{2, 3});
}

TEST_CASE("what waits for backward is reduced after it", "[compression][grouped]") {
  Grouped grouped(
      [](int) {
        return TensorGroups{{0}, {1}};
      },
      {.after_backward = true}, toy_job({10, 20}));
  grouped.on_event(Seconds{}, IterationStart{0});
  CHECK(grouped.on_event(Seconds{}, HookFired{.tensor = 0}).empty());
  CHECK(grouped.on_event(Seconds{}, HookFired{.tensor = 1}).empty());
  CHECK(collective_sizes(grouped.on_event(Seconds{}, BackwardDone{})) ==
        std::vector<std::int64_t>{40, 80});
}

TEST_CASE("ACP-SGD's thresholds shrink with what its factors shrink, each side by itself",
          "[compression][acp]") {
  const auto job = matrix_job();
  // Rank 2. Matrices: 1000 + 2048 = 3048 elements. P: (64 + 100) * 2 = 328, Q: (32 + 10) * 2 = 84.
  // In reverse order: large P 64 * 2 = 128, small P 200; the vector 64 raw.
  // The vector counts on both sides: 328 + 64 = 392 of 3048 + 64 = 3112 elements, 84 + 64 = 148.
  // Threshold 3048 * 4 bytes: limit 384 * 4: both P's; the vector starts a new buffer.
  CHECK(acp_groups(job, 2, Bytes{3048 * 4}, true) == TensorGroups{{2, 1}, {0}});
  // Q: limit 145 * 4: large 64, small 20, together 84; the vector opens another.
  CHECK(acp_groups(job, 2, Bytes{3048 * 4}, false) == TensorGroups{{2, 1}, {0}});
  // Half of it: 192 * 4 takes one P at a time.
  CHECK(acp_groups(job, 2, Bytes{1524 * 4}, true) == TensorGroups{{2}, {1}, {0}});
  CHECK(acp_groups(job, 2, Bytes{0}, true) == TensorGroups{{2}, {1}, {0}});
  // With 3120 * 4 it is 393 * 4, and all fit.
  CHECK(acp_groups(job, 2, Bytes{3120 * 4}, true) == TensorGroups{{2, 1, 0}});
}

TEST_CASE("between two measured sizes time lies on a line in log-log", "[compression][costs]") {
  const CompressorTable table{
      .compressor = "topk",
      .device = CodecDevice::cpu,
      .rows = {{100, Seconds{1e-6}, Seconds{5e-6}}, {10'000, Seconds{1e-4}, Seconds{5e-6}}}};
  CHECK(time_of(table, true, 1000)->count() == Approx(1e-5));    // slope 1
  CHECK(time_of(table, false, 1000)->count() == Approx(5e-6));   // slope 0
  CHECK(time_of(table, true, 10)->count() == Approx(1e-6));      // launches bound it
  CHECK(time_of(table, true, 40'000)->count() == Approx(4e-4));  // proportional
}

TEST_CASE("a law of n log2 n has no decoding", "[compression][costs]") {
  const CompressorTable table{.compressor = "topk", .encode_n_log2_n = Seconds{2e-10}};
  CHECK(time_of(table, true, 1024)->count() == Approx(2e-10 * 1024 * 10));
  CHECK_FALSE(time_of(table, false, 1024).has_value());
}

TEST_CASE("a table's launches take on another GPU what they took", "[compression]") {
  // 10 us bound by launches, 1 ms by memory at 400 GB/s: at 800 GB/s 10 + 990 / 2 us.
  const MeasuredCosts costs(
      {{.compressor = "topk",
        .memory_bandwidth = BytesPerSecond{400e9},
        .rows = {{1000, Seconds{1e-5}, Seconds{1e-5}}, {1'000'000, Seconds{1e-3}, Seconds{1e-3}}}}},
      BytesPerSecond{800e9});
  CHECK(costs.encode("topk", CodecDevice::gpu, 1000)->time.count() == Approx(1e-5));
  CHECK(costs.encode("topk", CodecDevice::gpu, 1'000'000)->time.count() == Approx(505e-6));
}

TEST_CASE("the GPU nearest in memory bandwidth counts, scaled by the ratio",
          "[compression][costs]") {
  const auto row = [](double seconds) {
    return std::vector<CompressorRow>{{1000, Seconds{seconds}, std::nullopt}};
  };
  const MeasuredCosts costs({{"topk", CodecDevice::gpu, BytesPerSecond{400e9}, row(1e-3)},
                             {"topk", CodecDevice::gpu, BytesPerSecond{900e9}, row(5e-3)}},
                            BytesPerSecond{500e9});
  CHECK(costs.encode("topk", CodecDevice::gpu, 1000)->time.count() == Approx(1e-3 * 400 / 500));
  CHECK_FALSE(costs.encode("topk", CodecDevice::cpu, 1000).has_value());
  CHECK_FALSE(costs.encode("dgc", CodecDevice::gpu, 1000).has_value());
}

TEST_CASE("error feedback is work beside a selection that was measured", "[compression][topk]") {
  JobView job = matrix_job();
  job.encode_costs = std::make_shared<FlatCosts>();
  const SparsifierOptions with{.density = 0.01, .error_feedback = true};
  const TensorGroup group = whole_group(job);  // 3112 elements
  const auto encoding = [&](const SparsifierOptions& options, CodecDevice device) {
    return Sparsifier(options, job, device).recipe(group).encode;
  };
  const auto plain = encoding({.density = 0.01}, CodecDevice::gpu);
  const auto fed = encoding(with, CodecDevice::gpu);
  REQUIRE(plain.size() == 1);
  REQUIRE(fed.size() == 2);
  CHECK(fed[0].time.count() == Approx(3112e-9));
  // The residual is added (read twice, written once); the selection keeps it in any case.
  CHECK(fed[1].traffic.count() == 3 * 4 * 3112);
  // On a CPU a sum and a copy of 12448 bytes at 14.2 GB/s, behind the copy to the host.
  const auto host = encoding(with, CodecDevice::cpu);
  REQUIRE(host.size() == 3);
  CHECK(host[2].place == CodecWork::Place::cpu);
  CHECK(host[2].time.count() == Approx(2 * 12448 / 14.2e9));
}
