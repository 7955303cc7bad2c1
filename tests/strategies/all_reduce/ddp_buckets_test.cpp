#include <numeric>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/half_precision.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/resnet50_tensors.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;
using namespace gradwire::literals;

namespace {

std::vector<std::int64_t> elements_of(const std::vector<PlanGroup>& plan) {
  std::vector<std::int64_t> elements;
  for (const auto& group : plan) elements.push_back(group.elements);
  return elements;
}

}  // namespace

TEST_CASE("the tensor that crosses the limit is in the bucket", "[ddp]") {
  // Limits of 16 and 40 bytes = 4 and 10 elements: 3 + 2 crosses the first, 6 + 5 the second.
  const auto job = toy_job({3, 2, 6, 5, 1});
  const auto buckets = assign_buckets(job, {0, 1, 2, 3, 4}, {Bytes{16}, Bytes{40}});
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].tensors == std::vector<TensorId>{0, 1});
  CHECK(buckets[1].tensors == std::vector<TensorId>{2, 3});
  CHECK(buckets[2].tensors == std::vector<TensorId>{4});
}

TEST_CASE("ResNet-50 has 161 tensors and 25 557 032 parameters", "[ddp]") {
  const auto tensors = resnet50_tensors();
  CHECK(tensors.size() == 161);
  CHECK(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                        [](std::int64_t sum, const auto& t) { return sum + t.elements; }) ==
        25'557'032);
}

TEST_CASE("DDP 1.7 rebuilds ResNet-50's buckets to the sizes of a recorded run", "[ddp]") {
  // All-reduce sizes of a public A100 trace of DDP, ResNet-50, 25 MiB (HolisticTraceAnalysis,
  // tests/data/nccl_parser_config), in floats.
  const Ddp ddp({.version = {1, 7}}, resnet50_job());
  CHECK(elements_of(ddp.plan(1)) ==
        std::vector<std::int64_t>{2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040});
}

TEST_CASE("DDP 1.4 fills buckets from the first parameter on and reduces that bucket last",
          "[ddp]") {
  // By hand, with F = 4 w^2 elements for a 1x1 from 4w to w and back, 9 w^2 for the 3x3, norms
  // apart; limits 1 MiB = 262 144 and 25 MiB = 6 553 600 floats, closing after the crossing tensor.
  // - conv1 + norm: 9 408 + 128 = 9 536; layer1 (w = 64): 215 808. Sum 225 344: below the limit.
  //   layer2.0: conv1 256*128 = 32 768 -> 258 112, its norm 256 -> 258 368, conv2 9*128^2 = 147 456
  //   -> 405 824: closed.
  // - The rest of layer2.0: norm 256, conv3 65 536 + 1 024, downsample 131 072 + 1 024 = 198 912;
  //   layer2.1 to .3: 3 * 280 064 = 840 192. Sum 1 039 104. layer3.0: 1 512 448 -> 2 551 552;
  //   layer3.1 to .3: 3 * 1 117 184 -> 5 903 104; layer3.4: conv1 262 144 + 512 + conv2 589 824 ->
  //   6 755 584 >= 6 553 600: closed after conv2.
  // - Rest of layer3.4: 512 + 262 144 + 2 048 = 264 704; layer3.5: 1 117 184 -> 1 381 888;
  //   layer4.0: conv1 524 288 + 1 024 + conv2 2 359 296 + 1 024 + conv3 1 048 576 + 4 096 ->
  //   5 320 192, downsample 2 097 152 -> 7 417 344: closed.
  // - Its norm 4 096; layer4.1: 4 462 592 -> 4 466 688; layer4.2: conv1 1 048 576 + 1 024 ->
  //   5 516 288, conv2 2 359 296 -> 7 875 584: closed.
  // - Rest: norm 1 024 + conv3 1 048 576 + 4 096 + head 2 049 000 = 3 102 696.
  const Ddp ddp({.version = {1, 4}}, resnet50_job());
  const std::vector<std::int64_t> expected = {3'102'696, 7'875'584, 7'417'344, 6'755'584, 405'824};
  CHECK(elements_of(ddp.plan(0)) == expected);
  CHECK(elements_of(ddp.plan(7)) == expected);  // never rebuilt
  CHECK(std::accumulate(expected.begin(), expected.end(), std::int64_t{0}) == 25'557'032);
}

TEST_CASE("with unused parameters to find, DDP never rebuilds", "[ddp]") {
  const Ddp ddp({.version = {1, 9}, .find_unused_parameters = true}, resnet50_job());
  CHECK(elements_of(ddp.plan(5)) == elements_of(Ddp({.version = {1, 4}}, resnet50_job()).plan(0)));
}

TEST_CASE("the small bucket can be the last of the rebuilt ones", "[ddp]") {
  // Gradients of 4, 1, 1, 3, 2, 2 and 1 elements come in this order; limits of 2 and then 5.
  const auto job = toy_job({1, 2, 2, 3, 1, 1, 4});
  DdpOptions options{
      .version = {1, 10}, .bucket_cap = Bytes{5 * 4}, .first_bucket_cap = Bytes{2 * 4}};
  // 4 | 1 + 1 + 3 | 2 + 2 + 1.
  CHECK(elements_of(Ddp(options, job).plan(1)) == std::vector<std::int64_t>{4, 5, 5});
  // From behind 1 + 2 | 2 + 3 | 1 + 1 + 4, reduced the other way round.
  options.set_last_bucket_cap = true;
  CHECK(elements_of(Ddp(options, job).plan(1)) == std::vector<std::int64_t>{6, 5, 3});
}

TEST_CASE("the fp16 hook halves what is reduced, not the buckets", "[ddp]") {
  const auto plain = Ddp({}, resnet50_job()).plan(1);
  const auto half = Compressed(std::make_unique<Ddp>(DdpOptions{.comm_hook = true}, resnet50_job()),
                               std::make_unique<HalfPrecision>(), resnet50_job(), 1)
                        .plan(1);
  REQUIRE(plain.size() == half.size());
  CHECK(half[1].elements == plain[1].elements);
  CHECK(2 * half[1].size.count() == plain[1].size.count());
}

TEST_CASE("from 1.12 on DDP starts with one bucket, which find_unused_parameters prevents",
          "[ddp]") {
  // _ddp_init_helper: without unused parameters to find the only limit is sys.maxsize; buckets of
  // the second iteration are the rebuilt ones, as in 1.7.
  const Ddp modern({.version = {1, 12}}, resnet50_job());
  CHECK(elements_of(modern.plan(0)) == std::vector<std::int64_t>{25'557'032});
  CHECK(elements_of(modern.plan(1)) == elements_of(Ddp({}, resnet50_job()).plan(1)));
  CHECK(elements_of(Ddp({.version = {1, 11}}, resnet50_job()).plan(0)).size() == 5);
  const DdpOptions unused{.version = {1, 12}, .find_unused_parameters = true};
  CHECK(elements_of(Ddp(unused, resnet50_job()).plan(0)).size() == 5);
}

TEST_CASE("a static graph is rebuilt an iteration later, with unused parameters as well", "[ddp]") {
  const DdpOptions options{
      .version = {1, 12}, .find_unused_parameters = true, .static_graph = true};
  const Ddp ddp(options, resnet50_job());
  CHECK(ddp.plan(0).size() == 1);
  CHECK(ddp.plan(1).size() == 1);
  CHECK(elements_of(ddp.plan(2)) == elements_of(Ddp({}, resnet50_job()).plan(1)));
}

TEST_CASE("until 1.8 a table that the decoder shares is reduced twice, once first of all",
          "[ddp]") {
  // Tensors of 8, 2, 3 and 1 elements; the first is the decoder's weight as well. Listed as
  // 8 2 3 1 8, cut at 1 element and then 5: 8 | 2 + 3 | 1 + 8, reduced from behind.
  auto job = toy_job({8, 2, 3, 1});
  job.gradient_order = {3, 2, 1, 0};
  job.tensors[0].shared = true;
  DdpOptions options{
      .version = {1, 6}, .bucket_cap = Bytes{5 * 4}, .first_bucket_cap = Bytes{1 * 4}};
  CHECK(elements_of(Ddp(options, job).plan(9)) == std::vector<std::int64_t>{9, 5, 8});
  CHECK(Ddp(options, job).plan(9).front().tensors == std::vector<TensorId>{3, 0});
  // Rebuilt in the order of gradients, both places at the end: 1 | 3 + 2 | 8 | 8.
  options.version = {1, 8};
  CHECK(elements_of(Ddp(options, job).plan(9)) == std::vector<std::int64_t>{1, 5, 8, 8});
  options.version = {1, 9};
  CHECK(elements_of(Ddp(options, job).plan(9)) == std::vector<std::int64_t>{1, 5, 8});
}
