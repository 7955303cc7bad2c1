#include "strategies/compression/acp_sgd.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/half_precision.hpp"
#include "strategies/compression/onebit_adam.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/compression/quantiser.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/compression/compression_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

using Sizes = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t elements = 64 + 1000 + 2048;  // of matrix_job: 3112
constexpr std::int64_t ranks = 4;
constexpr auto gpu = CodecDevice::gpu;

}  // namespace

TEST_CASE("half precision sends 2 bytes an element", "[compression]") {
  const auto group = whole_group(matrix_job());
  CHECK(sizes_of(HalfPrecision().recipe(group)) == Sizes{{2 * elements}});
  CHECK(HalfPrecision().payload(1000, 0)->size == Bytes{2000});
}

TEST_CASE("signs travel as ceil(n/32)*4 bytes a worker by all-gather", "[compression]") {
  const auto job = matrix_job();
  const SignCompressor signs({}, job, gpu);
  // ceil(3112 / 32) = 98 words.
  CHECK(sizes_of(signs.recipe(whole_group(job))) == Sizes{{ranks * 98 * 4}});
  // As a message of BytePS's onebit, with a scale of 4 bytes: ceil(1000 / 32) = 32 words.
  CHECK(signs.payload(1000, 0)->size == Bytes{32 * 4 + 4});
}

TEST_CASE("a majority vote takes machine leaders' signs to rank 0 in turn and back",
          "[compression]") {
  auto job = matrix_job();
  job.world_size = 6;
  job.machines = 3;
  job.machine_of = {0, 0, 1, 1, 2, 2};
  const SignCompressor signs({.vote = Vote::rank0}, job, gpu);
  const auto recipe = signs.recipe(whole_group(job));
  CHECK(sizes_of(recipe) == Sizes{{98 * 4}, {98 * 4}});
  CHECK(recipe.rounds[1].transfers[0].leaders);
  const auto exchanges = signs.exchanges();
  REQUIRE(exchanges.size() == 1);
  REQUIRE(exchanges[0].phases.size() == 2);  // one after the other
  CHECK(exchanges[0].phases[0][0].from.index == 2);
  CHECK(exchanges[0].phases[1][0].from.index == 4);
  CHECK(exchanges[0].phases[1][0].to.index == 0);
}

TEST_CASE("one machine votes on nothing", "[compression]") {
  auto job = matrix_job();
  job.machines = 1;
  job.machine_of = {0, 0, 0, 0};
  CHECK(SignCompressor({.vote = Vote::rank0}, job, gpu).recipe(whole_group(job)).rounds.empty());
}

TEST_CASE("QSGD sends an int8 an element and a norm a tensor, fp16 from 128 levels on",
          "[compression]") {
  const auto job = matrix_job();
  const auto group = whole_group(job);
  const Quantiser bytes(Quantiser::Coding::fixed, 127, job, gpu);
  CHECK(sizes_of(bytes.recipe(group)) == Sizes{{ranks * (elements + 3 * 4)}});
  const Quantiser halves(Quantiser::Coding::fixed, 128, job, gpu);
  CHECK(sizes_of(halves.recipe(group)) == Sizes{{ranks * (2 * elements + 3 * 4)}});
}

TEST_CASE("dithering's size is QSGD's bound for Elias codes", "[compression]") {
  // n = 10^6, s = 1: s (s + sqrt n) = 1001; 2 (1 + 10^6) / 1001 = 1998.004; log2 = 10.9644;
  // (3 + 1.5 * 10.9644) * 1001 + 32 = 19 498.0 bits -> 2438 bytes.
  CHECK(elias_coded(1'000'000, 1) == Bytes{2438});
  CHECK(elias_coded(10, 1000) == Bytes{40});  // never more than the numbers themselves
  const Quantiser dithering(Quantiser::Coding::elias, 1, matrix_job(), gpu);
  CHECK(dithering.payload(1'000'000, 0)->size == Bytes{2438 + 8});
}

TEST_CASE("top-k gathers k values and k indexes of 4 bytes from everyone", "[compression]") {
  const auto job = matrix_job();
  const Sparsifier topk({.density = 0.01}, job, gpu);
  // k = int(3112 * 0.01) = 31.
  CHECK(sizes_of(topk.recipe(whole_group(job))) == Sizes{{ranks * 31 * 4, ranks * 31 * 4}});
  CHECK(topk.payload(1000, 0)->size == Bytes{10 * 8});
  CHECK(kept_elements(10, 0.001) == 1);  // never none
  // DGC's indexes are int64.
  const Sparsifier dgc({.selection = Selection::dgc, .density = 0.01}, job, gpu);
  CHECK(sizes_of(dgc.recipe(whole_group(job))) == Sizes{{ranks * 31 * 4, ranks * 31 * 8}});
}

TEST_CASE("DGC warms up from 25 % of the elements to its density", "[compression]") {
  const auto job = matrix_job();
  const Sparsifier dgc({.selection = Selection::dgc, .density = 0.001, .warmup_steps = 2}, job,
                       gpu);
  const auto kept = [&](int iteration) { return dgc.payload(64'000, iteration)->size.count() / 8; };
  CHECK(kept(0) == 16'000);
  CHECK(kept(1) == 16'000);
  CHECK(kept(2) == 4'000);
  CHECK(kept(4) == 1'000);
  CHECK(kept(6) == 256);
  CHECK(kept(8) == 64);
}

TEST_CASE("gTop-k sends 8k bytes up log2 P rounds of a tree and down again", "[compression]") {
  const auto job = matrix_job();
  const GlobalTopK gtopk(0.01, job, gpu);
  CHECK(sizes_of(gtopk.recipe(whole_group(job))) == Sizes{{8 * 31}, {8 * 31}, {8 * 31}});
  const auto exchanges = gtopk.exchanges();
  REQUIRE(exchanges.size() == 3);  // 1 -> 0 and 3 -> 2; 2 -> 0; back
  CHECK(exchanges[0].phases[0].size() == 2);
  REQUIRE(exchanges[1].phases[0].size() == 1);
  CHECK(exchanges[1].phases[0][0].from.index == 2);
  REQUIRE(exchanges[2].phases.size() == 2);
  CHECK(exchanges[2].phases[0][0].to.index == 2);
}

TEST_CASE("host time is paid for every element, whatever is sent of them", "[compression]") {
  const auto job = matrix_job();
  const Seconds each{50e-9};
  const Sparsifier topk({.density = 0.01, .host_time = each}, job, gpu);
  const auto by_topk = topk.recipe(whole_group(job)).encode;
  const auto by_gtopk = GlobalTopK(0.01, job, gpu, each).recipe(whole_group(job)).encode;
  for (const CodecWork& last : {by_topk.back(), by_gtopk.back()}) {
    CHECK(last.place == CodecWork::Place::cpu);
    CHECK(last.time.count() == Approx(elements * 50e-9));
  }
  CHECK(topk.chained());  // a host thread cannot stand on the compute stream
  CHECK_FALSE(Sparsifier({.density = 0.01}, job, gpu).chained());
}

TEST_CASE("gTop-k reaches every rank once, whatever their number", "[compression]") {
  const int world = GENERATE(1, 2, 3, 7, 8, 64);
  auto job = matrix_job();
  job.world_size = world;
  const auto exchanges = GlobalTopK(0.01, job, gpu).exchanges();
  std::size_t sent = 0;
  for (std::size_t e = 0; e + 1 < exchanges.size(); ++e) sent += exchanges[e].phases[0].size();
  CHECK(sent == static_cast<std::size_t>(world - 1));
}

TEST_CASE("PowerSGD reduces what is uncompressed, then sum n r, then sum m r", "[compression]") {
  const auto job = matrix_job();
  const PowerSgd hook({.matrix_approximation_rank = 2, .start_iteration = 0}, job);
  // large: (64 + 32) * 2 * 2 < 2048, compressed; small: (100 + 10) * 2 * 2 < 1000, compressed.
  CHECK(sizes_of(hook.recipe(whole_group(job))) ==
        Sizes{{64 * 4}, {(64 + 100) * 2 * 4}, {(32 + 10) * 2 * 4}});
  // A rank of 3 makes (100 + 10) * 3 * 2 = 660 < 1000 still; of 5, 1100: it stays raw.
  const PowerSgd five({.matrix_approximation_rank = 5, .start_iteration = 0}, job);
  CHECK(sizes_of(five.recipe(whole_group(job))) ==
        Sizes{{(64 + 1000) * 4}, {64 * 5 * 4}, {32 * 5 * 4}});
}

TEST_CASE("PowerSGD reduces plainly before its start iteration", "[compression]") {
  const auto job = matrix_job();
  const PowerSgd hook({.start_iteration = 3}, job);
  CHECK(sizes_of(hook.recipe(whole_group(job, 2))) == Sizes{{4 * elements}});
  CHECK(sizes_of(hook.recipe(whole_group(job, 3))).size() == 3);
}

TEST_CASE("batched PowerSGD sees a bucket as one square matrix", "[compression]") {
  const auto job = matrix_job();
  const PowerSgd hook({.matrix_approximation_rank = 2, .start_iteration = 0, .batched = true}, job);
  // ceil(sqrt(3112)) = 56.
  CHECK(sizes_of(hook.recipe(whole_group(job))) == Sizes{{56 * 2 * 4}, {56 * 2 * 4}});
}

TEST_CASE("epfml's PowerSGD reduces P and what is uncompressed together, then Q", "[compression]") {
  const auto job = matrix_job();
  const PowerSgd epfml({.start_iteration = 0, .hook = false}, job);
  CHECK(sizes_of(epfml.recipe(whole_group(job))) ==
        Sizes{{(64 + 100) * 4, 64 * 4}, {(32 + 10) * 4}});
}

TEST_CASE("ACP-SGD sends P on even steps and Q on odd ones, with the vectors", "[compression]") {
  const auto job = matrix_job();
  const AcpSgd acp(4, job);
  CHECK(sizes_of(acp.recipe(whole_group(job, 0))) == Sizes{{((64 + 100) * 4 + 64) * 4}});
  CHECK(sizes_of(acp.recipe(whole_group(job, 1))) == Sizes{{((32 + 10) * 4 + 64) * 4}});
}

TEST_CASE("1-bit Adam moves n/8 bytes by all-to-all and by all-gather after its warm-up",
          "[compression]") {
  const auto job = matrix_job();
  const OneBitAdam adam(10, job);
  CHECK(sizes_of(adam.recipe(whole_group(job, 9))) == Sizes{{4 * elements}});
  // Padded to chunks of whole bytes: 3112 -> 3136 = 98 * 32; a scale of 4 bytes a rank.
  const auto recipe = adam.recipe(whole_group(job, 10));
  CHECK(sizes_of(recipe) == Sizes{{392, 16}, {392, 16}});
  CHECK(recipe.rounds[0].transfers[0].kind == CollectiveKind::all_to_all);
  CHECK(recipe.rounds[1].transfers[0].kind == CollectiveKind::all_gather);
  auto alone = whole_group(job, 10);
  alone.ranks = 1;
  CHECK(adam.recipe(alone).encode.empty());
}

TEST_CASE("what was measured stands in for counted kernels, once a decoding", "[compression]") {
  auto job = matrix_job();
  job.encode_costs = std::make_shared<FlatCosts>();
  const auto recipe = SignCompressor({}, job, gpu).recipe(whole_group(job));
  CHECK(recipe.encode[0].time.count() == Approx(elements * 1e-9));
  CHECK(recipe.encode[0].kernels == 0);
  CHECK(recipe.rounds[0].work[0].time.count() == Approx(4 * elements * 2e-9));  // four ranks' signs
}

TEST_CASE("on a CPU gradients are copied there and back", "[compression]") {
  const auto job = matrix_job();
  const auto recipe = Sparsifier({}, job, CodecDevice::cpu).recipe(whole_group(job));
  REQUIRE(recipe.encode.size() == 2);
  CHECK(recipe.encode[0].place == CodecWork::Place::bus);
  CHECK(recipe.encode[0].time.count() == Approx(4 * elements / 1e9));
  CHECK(recipe.encode[1].place == CodecWork::Place::cpu);
  CHECK(recipe.encode[1].time.count() == Approx(4 * elements / 1.25e9));  // 10 Gbit/s
}

TEST_CASE("on a CPU values go where their indices say as fast for every sparsifier",
          "[compression]") {
  class RandomKOnly final : public EncodeCosts {
   public:
    [[nodiscard]] std::optional<MeasuredTime> encode(const std::string& /*compressor*/,
                                                     CodecDevice /*device*/,
                                                     std::int64_t /*elements*/) const override {
      return std::nullopt;
    }
    [[nodiscard]] std::optional<MeasuredTime> decode(const std::string& compressor,
                                                     CodecDevice /*device*/,
                                                     std::int64_t size) const override {
      if (compressor != "randomk") return std::nullopt;
      return MeasuredTime{static_cast<double>(size) * Seconds{0.2e-9}};
    }
  };
  auto job = matrix_job();
  job.encode_costs = std::make_shared<RandomKOnly>();
  const auto payload = Sparsifier({}, job, CodecDevice::cpu).payload(elements, 0);
  REQUIRE(payload.has_value());
  CHECK(payload->decode.back().time.count() == Approx(elements * 0.2e-9));
  CHECK(
      SignCompressor({}, job, CodecDevice::cpu).payload(elements, 0)->decode.back().time.count() ==
      Approx(4 * elements / 1.25e9));
}

TEST_CASE("the three products of PowerSGD are 2 n m r operations each", "[compression]") {
  const auto job = matrix_job();
  const auto group = acp_group(job.tensors, {1, 2}, 2);
  CHECK(products(group, "").flops == Approx(2.0 * (1000 + 2048) * 2));
  CHECK(products(group, "").kernels == 2);
}
