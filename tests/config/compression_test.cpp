#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/compressor_costs_yaml.hpp"
#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "strategies/compression/compressed.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

JobView job_of_one_matrix() {
  JobView job;
  job.world_size = 4;
  job.machines = 2;
  job.machine_of = {0, 0, 1, 1};
  job.tensors = {{"matrix", 1'000'000, 0, {1000, 1000}}};
  job.gradient_order = {0};
  job.host_copy_bandwidth = BytesPerSecond{1e9};
  return job;
}

StrategyMaker read(const std::string& text) {
  const YamlValue document = parse_yaml(text, "s.yaml");
  YamlMap map(document);
  const auto* entry = find_strategy(map.require<std::string>("name"));
  YamlKnobs knobs(std::move(map));
  auto maker = read_strategy(*entry, knobs);
  knobs.finish();
  return maker;
}

std::string message(const std::string& text) {
  return test::refusal_of([&] { return read(text); });
}

std::vector<CompressorTable> shipped(const std::string& name) {
  return read_compressor_costs(load_yaml(data_file(DataKind::compressor_costs, name).string()));
}

}  // namespace

TEST_CASE("every compression goes under every strategy that reduces gradients",
          "[config][compression]") {
  for (const auto& compression : compression_catalogue()) {
    for (const std::string strategy : {"bsp", "wfbp", "ddp"}) {
      INFO(strategy << " with " << compression.name);
      const auto made = read("{name: " + strategy + ", compression: {name: " + compression.name +
                             "}}")(job_of_one_matrix());
      CHECK(dynamic_cast<Compressed*>(made.get()) != nullptr);
      REQUIRE_FALSE(made->plan(0).empty());
      CHECK(made->plan(0)[0].size > Bytes{0});
    }
  }
}

TEST_CASE("the bytes of a compression follow its knobs", "[config][compression]") {
  // One percent of 10^6 elements from each of 4 ranks, values and indexes of 4 bytes.
  const auto plan =
      read("{name: wfbp, compression: {name: topk, density: 1 %}}")(job_of_one_matrix())->plan(0);
  CHECK(plan.at(0).size == Bytes{4 * 10'000 * 8});
}

TEST_CASE("a compression that cannot be is refused at its place", "[config][compression]") {
  CHECK(message("{name: none, compression: {name: fp16}}") ==
        "s.yaml:1:27: 'fp16' cannot compress 'none': the strategy exchanges no gradients by "
        "all-reduces or messages; expected no 'compression'");
  CHECK_THAT(message("{name: ddp, compression: {name: topkk}}"),
             Catch::ContainsSubstring("did you mean 'topk'?"));
  CHECK(message("{name: ddp, compression: {name: powersgd, device: cpu}}") ==
        "s.yaml:1:51: 'powersgd' computes on the GPU; expected 'device: gpu'");
  CHECK_THAT(message("{name: ddp, compression: {name: topk, denisty: 1 %}}"),
             Catch::ContainsSubstring("did you mean 'density'?"));
  CHECK_THAT(message("{name: ddp, compression: {name: topk, density: 0 %}}"),
             Catch::ContainsSubstring("expected more than 0 %"));
  CHECK_THAT(message("{name: powersgd, compression: {name: fp16}}"),
             Catch::ContainsSubstring("'powersgd' compresses by itself"));
}

TEST_CASE("sharded data parallelism takes what PyTorch's hooks do", "[config][compression]") {
  // FullyShardedDataParallel.register_comm_hook: casts under shards, anything where nothing is
  // sharded, nothing under hybrid strategies.
  CHECK_NOTHROW(read("{name: fsdp, compression: {name: fp16}}")(job_of_one_matrix()));
  CHECK_NOTHROW(read("{name: fsdp, sharding_strategy: NO_SHARD, compression: {name: powersgd}}")(
      job_of_one_matrix()));
  CHECK(message("{name: fsdp, compression: {name: powersgd}}") ==
        "s.yaml:1:27: 'powersgd' cannot compress 'fsdp': it reduce-scatters gradients, which casts "
        "alone go under; expected fp16 or bf16");
  CHECK(message("{name: hsdp, compression: {name: fp16}}") ==
        "s.yaml:1:27: 'fp16' cannot compress 'hsdp': FullyShardedDataParallel.register_comm_hook "
        "refuses hybrid strategies; expected 'reduce_dtype', or fsdp2 with "
        "'data_parallel_shard_degree'");
  // A degree that only the job's ranks can tell possible: groups of 4 of 4 ranks, not of 3.
  CHECK_NOTHROW(read("{name: fsdp2, data_parallel_shard_degree: 4, compression: {name: fp16}}")(
      job_of_one_matrix()));
  CHECK_THROWS_WITH(read("{name: hsdp, data_parallel_shard_degree: 4, compression: {name: fp16}}")(
                        job_of_one_matrix()),
                    Catch::ContainsSubstring("register_comm_hook refuses hybrid strategies"));
}

TEST_CASE("the shipped tables hold what was published", "[config][compression]") {
  const auto cpu = shipped("espresso_cpu");
  const auto onebit = std::ranges::find(cpu, "signsgd", &CompressorTable::compressor);
  REQUIRE(onebit != cpu.end());
  CHECK(time_of(*onebit, true, 1 << 20)->count() == Approx(1099e-6));
  CHECK(time_of(*onebit, false, 1 << 26)->count() == Approx(26167e-6));
  // 2.18896957e-10 n log2 n at n = 2^20: 4.5906 ms.
  CHECK(time_of(shipped("topk")[0], true, 1 << 20)->count() == Approx(4.5906e-3).epsilon(1e-4));
  for (const auto& name : data_names(DataKind::compressor_costs)) {
    CHECK_FALSE(shipped(name).empty());
  }
}

TEST_CASE("the CPU tables are the rows of the shared measurements", "[config][compression]") {
  const auto file = test::shared("data/microbenchmarks/espresso_cpu_compressors.csv");
  if (test::skipped_without(file)) return;
  // block,compressor,elements,compress_us,decompress_us; the first of its blocks is carried.
  const std::map<std::string, std::string> names = {
      {"randomk", "randomk"}, {"dgc", "dgc"}, {"efsignsgd", "ef_signsgd"}, {"onebit", "signsgd"}};
  const auto tables = shipped("espresso_cpu");
  std::ifstream lines(file);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells(line);
    int block = 0;
    std::string compressor;
    std::int64_t elements = 0;
    double encode = 0;
    double decode = 0;
    if (!(cells >> block >> compressor >> elements >> encode >> decode) || block != 1) continue;
    const auto table =
        std::ranges::find(tables, names.at(compressor), &CompressorTable::compressor);
    REQUIRE(table != tables.end());
    CHECK(time_of(*table, true, elements)->count() == Approx(encode * 1e-6));
    CHECK(time_of(*table, false, elements)->count() == Approx(decode * 1e-6));
    ++rows;
  }
  CHECK(rows == 4 * 17);  // 2^10 to 2^26 elements
}

TEST_CASE("a table of times is read with its units, rows in order", "[config][compression]") {
  const auto failure = [](const std::string& text) {
    const YamlValue document = parse_yaml("schema: gradwire.compressor_costs/1\n" + text, "c.yaml");
    return test::refusal_of([&] { return read_compressor_costs(document); });
  };
  const std::string head = "tables: [{compressor: topk, device: cpu, source: s, below: constant, ";
  CHECK(failure(head + "rows: [{elements: 10, encode: 1 us}]}]") == "accepted");
  CHECK_THAT(failure(head + "rows: [{elements: 10, encode: 1}]}]"),
             Catch::ContainsSubstring("expected a time"));
  CHECK_THAT(failure(head + "rows: [{elements: 10, encode: 1 us}, {elements: 10, encode: 1 us}]}]"),
             Catch::ContainsSubstring("'elements' is '10'"));
  CHECK_THAT(failure(head + "row: []}]"), Catch::ContainsSubstring("either 'rows' or"));
  CHECK_THAT(failure("tables: [{compressor: topkk, device: cpu, source: s}]"),
             Catch::ContainsSubstring("did you mean 'topk'?"));
}

TEST_CASE("ddl-benchmarks' compressors register no hooks on one rank", "[config][compression]") {
  JobView job = job_of_one_matrix();
  job.world_size = 1;
  job.machine_of = {0};
  for (const std::string name : {"topk", "signsgd"}) {
    INFO(name);
    const auto strategy = read("{name: " + name + "}")(job);
    CHECK(strategy->on_event(Seconds{}, IterationStart{0}).empty());
    CHECK(strategy->on_event(Seconds{}, HookFired{.tensor = 0}).empty());
    CHECK(strategy->on_event(Seconds{}, BackwardDone{}).empty());
    CHECK(strategy->plan(0).empty());
  }
}

TEST_CASE("what a tuner times under a compression is compressed", "[config][compression]") {
  JobView job = job_of_one_matrix();
  int timed = 0;
  job.iteration_time = [&](const std::unique_ptr<Strategy>& tried, int /*iterations*/) {
    CHECK(dynamic_cast<const Compressed*>(tried.get()) != nullptr);
    ++timed;
    return Seconds{1e-3};
  };
  const auto made = read("{name: horovod, autotune: true, compression: {name: fp16}}")(job);
  // 20 + 1 samples without the response cache, as many with it.
  CHECK(timed == 42);
}
