#include "strategies/compression/compressed.hpp"

#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/compression/corrections.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/half_precision.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/compression/quantiser.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/compression/compression_job.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

constexpr auto gpu = CodecDevice::gpu;

Event ended(OperationId id) {
  return OperationDone{id};
}

template <class T>
const T& as(const Operation& operation) {
  return std::get<T>(operation);
}

Collective gradients(std::vector<TensorId> tensors, std::int64_t size) {
  return {.size = Bytes{size}, .tensors = std::move(tensors), .label = "bucket"};
}

}  // namespace

TEST_CASE("under WFBP each tensor is packed, gathered, and unpacked behind the gate",
          "[compression][compressed]") {
  const auto job = matrix_job();
  Compressed strategy(make_wfbp(job), std::make_unique<SignCompressor>(SignOptions{}, job, gpu),
                      job, 1);
  CHECK_FALSE(strategy.traits().dynamic);
  strategy.on_event(Seconds{}, IterationStart{0});
  const auto first = strategy.on_event(Seconds{}, HookFired{.tensor = 2});
  REQUIRE(first.size() == 2);
  CHECK(as<DeviceWork>(first[0]).kind == WorkKind::encode);
  CHECK(as<DeviceWork>(first[0]).stream == DeviceStream::compute);
  CHECK(as<Collective>(first[1]).kind == CollectiveKind::all_gather);
  CHECK(as<Collective>(first[1]).size == Bytes{4 * 2048 / 32 * 4});
  CHECK(as<Collective>(first[1]).ready == Collective::Ready::behind_compute);
  strategy.on_event(Seconds{}, HookFired{.tensor = 1});  // operations 2 and 3
  const auto end = strategy.on_event(Seconds{}, BackwardDone{});
  CHECK(as<Gate>(end[0]).until == std::vector<OperationId>{1, 3});
  REQUIRE(end.size() == 1 + 2 * 2);  // unpack and divide, of each tensor
  CHECK(as<DeviceWork>(end[1]).label == "unpack signs");
}

TEST_CASE("the inner strategy is notified of its own operation, once all transfers have ended",
          "[compression][compressed]") {
  const auto job = matrix_job();
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{{DeviceWork{.label = "copy"}, gradients({2}, 4 * 2048)}});
  Scripted* inner = scripted.get();
  Compressed strategy(std::move(scripted),
                      std::make_unique<Sparsifier>(SparsifierOptions{}, job, gpu), job, 1);
  const auto operations = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(operations.size() == 4);  // 0 copy, 1 select, 2 values, 3 indexes
  CHECK(as<Collective>(operations[3]).label == "bucket: indexes");
  strategy.on_event(Seconds{}, ended(2));
  CHECK(inner->ended.empty());
  strategy.on_event(Seconds{}, ended(3));
  CHECK(inner->ended == std::vector<OperationId>{1});
}

TEST_CASE("what carries no gradients passes as it is", "[compression][compressed]") {
  const auto job = matrix_job();
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{{Collective{.kind = CollectiveKind::broadcast,
                                          .size = Bytes{512},
                                          .tensors = {},
                                          .label = "buffers"},
                               Gate{{0}}}});
  Compressed strategy(std::move(scripted), std::make_unique<HalfPrecision>(), job, 1);
  const auto operations = strategy.on_event(Seconds{}, IterationStart{0});
  REQUIRE(operations.size() == 2);
  CHECK(as<Collective>(operations[0]).size == Bytes{512});
  CHECK(as<Gate>(operations[1]).until == std::vector<OperationId>{0});
}

TEST_CASE("PowerSGD's three all-reduces of a bucket are a chain with work between",
          "[compression][compressed][powersgd]") {
  const auto job = matrix_job();
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{{gradients({2, 1, 0}, 4 * 3112)}, {Gate{{0}}}});
  Scripted* inner = scripted.get();
  PowerSgdOptions options{.start_iteration = 0, .use_error_feedback = false};
  Compressed strategy(std::move(scripted), std::make_unique<PowerSgd>(options, job), job, 1);
  CHECK(strategy.traits().dynamic);
  // 0 flag; on the compute stream: 1 gather, 2 orthogonalise Q, 3 P = M Q; 4 ready; 5 the launching
  // thread waits for the end of the chain.
  const auto hook = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(hook.size() == 6);
  CHECK(std::holds_alternative<Flag>(hook[0]));
  CHECK(as<DeviceWork>(hook[3]).label == "P = M Q");
  CHECK(as<DeviceWork>(hook[4]).notify);
  CHECK(as<DeviceWork>(hook[4]).kernels == 0);
  CHECK(as<Gate>(hook[5]).until == std::vector<OperationId>{0});

  const auto raw = strategy.on_event(Seconds{}, ended(4));
  REQUIRE(raw.size() == 1);  // 6
  CHECK(as<Collective>(raw[0]).size == Bytes{64 * 4});
  CHECK(as<Collective>(raw[0]).ready == Collective::Ready::at_once);
  const auto unpack = strategy.on_event(Seconds{}, ended(6));
  REQUIRE(unpack.size() == 1);  // 7
  CHECK(as<DeviceWork>(unpack[0]).stream == DeviceStream::side);
  const auto p = strategy.on_event(Seconds{}, ended(7));
  CHECK(as<Collective>(p.at(0)).label == "bucket: P");  // 8
  CHECK(as<Collective>(p.at(0)).size == Bytes{(64 + 100) * 4});
  CHECK(as<DeviceWork>(strategy.on_event(Seconds{}, ended(8)).at(0)).label == "orthogonalise P");
  CHECK(as<DeviceWork>(strategy.on_event(Seconds{}, ended(9)).at(0)).label == "Q = M^T P");
  const auto q = strategy.on_event(Seconds{}, ended(10));
  CHECK(as<Collective>(q.at(0)).size == Bytes{(32 + 10) * 4});  // 11
  CHECK(as<DeviceWork>(strategy.on_event(Seconds{}, ended(11)).at(0)).label == "divide Q");
  CHECK(as<DeviceWork>(strategy.on_event(Seconds{}, ended(12)).at(0)).label == "M = P Q^T");
  CHECK(inner->ended.empty());
  const auto end = strategy.on_event(Seconds{}, ended(13));
  CHECK(inner->ended == std::vector<OperationId>{0});
  REQUIRE(end.size() == 2);
  CHECK(as<Raise>(end[0]).flag == 0);
  CHECK(as<Gate>(end[1]).until == std::vector<OperationId>{0});  // the inner strategy's own gate
}

TEST_CASE("a chain holds the communication stream until its last round is posted",
          "[compression][compressed]") {
  const auto job = matrix_job();
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{{gradients({0}, 4 * 64), gradients({2}, 4 * 2048)}});
  PowerSgdOptions options{.start_iteration = 0, .use_error_feedback = false, .hook = false};
  // Tensor 0 is a vector: one all-reduce, no chain. Tensor 2 comes behind it.
  Compressed strategy(std::move(scripted), std::make_unique<PowerSgd>(options, job), job, 1);
  const auto posted = strategy.on_event(Seconds{}, BackwardDone{});
  // 0 flag, 1 gather, 2 ready; 3 flag, 4 orthogonalise, 5 product, 6 ready.
  REQUIRE(posted.size() == 7);
  CHECK(strategy.on_event(Seconds{}, ended(6)).empty());  // not its turn
  const auto both = strategy.on_event(Seconds{}, ended(2));
  REQUIRE(both.size() == 2);  // the vector, and P at once behind it on the stream
  CHECK(as<Collective>(both[0]).label == "bucket: uncompressed");
  CHECK(as<Collective>(both[1]).label == "bucket: P");
}

TEST_CASE("a dynamic strategy's collectives keep their stream, and encode beside compute",
          "[compression][compressed]") {
  const auto job = matrix_job();
  auto collective = gradients({2}, 4 * 2048);
  collective.ready = Collective::Ready::at_once;
  collective.stream = 3;
  auto scripted = std::make_unique<Scripted>(std::vector<Operations>{{collective}, {}}, true);
  Scripted* inner = scripted.get();
  Compressed strategy(std::move(scripted), std::make_unique<HalfPrecision>(), job, 1);
  const auto encode = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(encode.size() == 2);  // 0 flag, 1 cast
  CHECK(as<DeviceWork>(encode[1]).stream == DeviceStream::side);
  const auto reduce = strategy.on_event(Seconds{}, ended(1));
  CHECK(as<Collective>(reduce.at(0)).stream == 3);
  CHECK(as<Collective>(reduce.at(0)).size == Bytes{2 * 2048});
  strategy.on_event(Seconds{}, ended(2));
  CHECK(inner->ended.empty());  // the cast back is part of it
  strategy.on_event(Seconds{}, ended(3));
  CHECK(inner->ended == std::vector<OperationId>{0});
}

TEST_CASE("messages between machines are compressed on hosts, those within one are not",
          "[compression][compressed]") {
  const auto job = matrix_job();
  using Place = Endpoint::Place;
  const std::vector<Exchange> exchanges = {
      {.name = "to host", .phases = {{Message{{Place::gpu, 0}, {Place::host, 0}}}}},
      {.name = "push", .phases = {{Message{{Place::host, 0}, {Place::server, 1}}}}}};
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{
          {Messages{.exchange = 0, .size = Bytes{4000}, .tensors = {1}, .label = "m"}},
          {Messages{.exchange = 1, .size = Bytes{4000}, .tensors = {1}, .label = "m"}},
          {HostWork{.thread = 0, .label = "own"}}},
      true, exchanges);
  Compressed strategy(std::move(scripted),
                      std::make_unique<SignCompressor>(SignOptions{}, job, CodecDevice::cpu), job,
                      2);
  const auto local = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(local.size() == 1);
  CHECK(as<Messages>(local[0]).size == Bytes{4000});
  const auto pack = strategy.on_event(Seconds{}, ended(0));
  REQUIRE(pack.size() == 2);  // 1 flag, 2 pack on a host thread
  CHECK(as<HostWork>(pack[1]).thread < 2);
  const auto push = strategy.on_event(Seconds{}, ended(2));
  CHECK(as<Messages>(push.at(0)).exchange == 1);
  CHECK(as<Messages>(push.at(0)).size == Bytes{32 * 4 + 4});
  strategy.on_event(Seconds{}, ended(3));
  const auto end = strategy.on_event(Seconds{}, ended(4));
  REQUIRE(end.size() == 2);
  // Raised; and the strategy's own thread, behind two, the bus and four of each server.
  CHECK(as<HostWork>(end[1]).thread == 2 + 1 + 2 * 4);
}

TEST_CASE("coding messages goes on beside sending others, at servers on threads of their own",
          "[compression][compressed]") {
  const auto job = matrix_job();
  using Place = Endpoint::Place;
  const std::vector<Exchange> exchanges = {
      {.name = "push", .phases = {{Message{{Place::host, 0}, {Place::server, 1}}}}}};
  const auto message = [](const char* label, std::int64_t priority) {
    return Messages{.exchange = 0,
                    .size = Bytes{1 << 26},  // 2 MiB of signs: none is joined with another
                    .tensors = {1},
                    .label = label,
                    .priority = priority};
  };
  auto scripted = std::make_unique<Scripted>(
      std::vector<Operations>{{message("a", 2), message("b", 2), message("c", 1)}}, true,
      exchanges);
  auto* inner = scripted.get();
  Compressed strategy(std::move(scripted),
                      std::make_unique<SignCompressor>(SignOptions{}, job, CodecDevice::cpu), job,
                      2);
  const auto thread = [](const Operation& operation) { return as<HostWork>(operation).thread; };
  // Of each a flag; two threads encode a and b (operations 1 and 3), c waits.
  const auto begun = strategy.on_event(Seconds{}, BackwardDone{});
  REQUIRE(begun.size() == 5);
  CHECK(thread(begun[1]) == 0);
  CHECK(thread(begun[3]) == 1);
  // The thread that is free takes c (5); a is sent (6).
  const auto sent = strategy.on_event(Seconds{}, ended(1));
  REQUIRE(sent.size() == 2);
  CHECK(thread(sent[0]) == 0);
  CHECK(as<Messages>(sent[1]).label == "a");
  // b and c are ready before a has arrived, and wait for their connection.
  CHECK(strategy.on_event(Seconds{}, ended(3)).empty());
  CHECK(strategy.on_event(Seconds{}, ended(5)).empty());
  // The server decodes a on the first thread of its own while c is sent, the more urgent.
  const auto next = strategy.on_event(Seconds{}, ended(6));
  REQUIRE(next.size() == 2);
  CHECK(thread(next[0]) == 2 + 1 + 4);
  CHECK(as<Messages>(next[1]).label == "c");
  CHECK(inner->ended.empty());
  strategy.on_event(Seconds{}, ended(7));
  CHECK(inner->ended == std::vector<OperationId>{0});
}

TEST_CASE("a server's own thread codes where the strategy names it; momentum is the workers'",
          "[compression][compressed]") {
  const auto job = matrix_job();
  using Place = Endpoint::Place;
  const Endpoint server{Place::server, 1};
  const std::vector<Exchange> exchanges = {
      {.name = "push", .phases = {{{{Place::host, 0}, server}}}},
      {.name = "pull", .phases = {{{server, {Place::host, 0}}}}}};
  const auto begin = [&](int exchange) {
    const Messages message{.exchange = exchange,
                           .size = Bytes{4000},
                           .tensors = {0},
                           .label = "m",
                           .server = Messages::ServerEnd{5, exchange == 1}};
    auto inner = std::make_unique<Scripted>(std::vector<Operations>{{message}}, true, exchanges);
    auto signs = std::make_unique<SignCompressor>(SignOptions{}, job, CodecDevice::cpu);
    return Compressed(
        std::move(inner),
        std::make_unique<WithMomentum>(std::move(signs), CodecDevice::cpu, BytesPerSecond{14.2e9}),
        job, 2);
  };
  // The strategy's thread 5, behind two of workers, the bus and four of each server.
  constexpr int engine = 5 + 2 + 1 + 2 * 4;
  SECTION("a push") {
    Compressed strategy = begin(0);
    const auto momentum = strategy.on_event(Seconds{}, BackwardDone{}).at(1);  // 0 is the flag
    CHECK(as<HostWork>(momentum).label == "momentum");
    CHECK(as<HostWork>(momentum).thread == 0);
    // Two passes over 4000 bytes at 14.2 GB/s.
    CHECK(as<HostWork>(momentum).time.count() == Approx(2 * 4000 / 14.2e9));
    CHECK(as<HostWork>(strategy.on_event(Seconds{}, ended(1)).at(0)).label == "pack signs");
    strategy.on_event(Seconds{}, ended(2));
    const auto unpack = strategy.on_event(Seconds{}, ended(3)).at(0);
    CHECK(as<HostWork>(unpack).thread == engine);
  }
  SECTION("a pull") {
    Compressed strategy = begin(1);
    const auto pack = strategy.on_event(Seconds{}, BackwardDone{}).at(1);
    CHECK(as<HostWork>(pack).label == "pack signs");
    CHECK(as<HostWork>(pack).thread == engine);
    strategy.on_event(Seconds{}, ended(1));
    const auto unpack = strategy.on_event(Seconds{}, ended(2)).at(0);
    CHECK(as<HostWork>(unpack).thread == 0);
  }
}

TEST_CASE("dithering's error feedback is two passes of whoever encodes",
          "[compression][compressed]") {
  const auto job = matrix_job();
  const auto payload = [&](bool feedback) {
    return *Quantiser(Quantiser::Coding::elias, 4, job, CodecDevice::cpu, feedback)
                .payload(1'000'000, 0);
  };
  CHECK(payload(false).encode.size() == 1);
  REQUIRE(payload(true).encode.size() == 2);
  // 4 MB, twice, at 14.2 GB/s; a server's answer is encoded by the same steps.
  CHECK(payload(true).encode[1].time.count() == Approx(2 * 4e6 / 14.2e9));
  CHECK(payload(true).correct.empty());
}

TEST_CASE("a server takes every worker's message apart, and small tensors travel as they are",
          "[compression][compressed]") {
  const auto job = matrix_job();
  using Place = Endpoint::Place;
  // Both workers push to one server; it answers both.
  const Endpoint server{Place::server, 1};
  const std::vector<Exchange> exchanges = {
      {.name = "push", .phases = {{{{Place::host, 0}, server}, {{Place::host, 1}, server}}}},
      {.name = "pull", .phases = {{{server, {Place::host, 0}}, {server, {Place::host, 1}}}}}};
  const auto run = [&](int exchange, Bytes least) {
    auto scripted = std::make_unique<Scripted>(
        std::vector<Operations>{
            {Messages{.exchange = exchange, .size = Bytes{4000}, .tensors = {0}, .label = "m"}}},
        true, exchanges);
    return Compressed(std::move(scripted),
                      std::make_unique<SignCompressor>(SignOptions{}, job, CodecDevice::cpu), job,
                      1, least);
  };
  // 4000 bytes at the assumed 1.25 GB/s: 3.2 us a message.
  const auto decode = [&](int exchange) {
    Compressed strategy = run(exchange, Bytes{0});
    strategy.on_event(Seconds{}, BackwardDone{});  // 0 flag, 1 pack
    strategy.on_event(Seconds{}, ended(1));        // 2 message
    return as<HostWork>(strategy.on_event(Seconds{}, ended(2)).at(0)).time.count();
  };
  CHECK(decode(0) == Approx(2 * 3.2e-6));
  CHECK(decode(1) == Approx(3.2e-6));
  const Bytes tensor = job.size_of(job.tensor(0));
  CHECK(run(0, tensor).on_event(Seconds{}, BackwardDone{}).size() == 2);
  const auto whole = run(0, tensor + Bytes{1}).on_event(Seconds{}, BackwardDone{});
  REQUIRE(whole.size() == 1);
  CHECK(as<Messages>(whole[0]).size == Bytes{4000});
}

TEST_CASE("a compression's own exchanges stand behind the strategy's",
          "[compression][compressed]") {
  const auto job = matrix_job();
  Compressed strategy(make_wfbp(job), std::make_unique<GlobalTopK>(0.01, job, gpu), job, 1);
  CHECK(strategy.exchanges().size() == 3);
  CHECK(strategy.traits().dynamic);
}

TEST_CASE("the plan shows what all transfers of a group carry", "[compression][compressed]") {
  const auto job = matrix_job();
  const Compressed half(make_wfbp(job), std::make_unique<HalfPrecision>(), job, 1);
  CHECK(half.plan(0).at(0).size == Bytes{2 * 2048});
  CHECK(half.plan(0).at(0).elements == 2048);
}

TEST_CASE("a strategy that exchanges nothing cannot be compressed", "[compression][compressed]") {
  const auto job = matrix_job();
  const HalfPrecision half;
  CHECK(not_compressible(NoCommunication{}, half, job) ==
        "the strategy exchanges no gradients by all-reduces or messages");
  CHECK(not_compressible(*make_wfbp(job), half, job).empty());
}
