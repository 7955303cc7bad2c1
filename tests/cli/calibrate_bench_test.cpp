#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

/// An all-reduce among hosts of one rank each: 100 us a step + size / 100 MB/s around the ring.
std::string bench_file(const std::string& library, int ranks) {
  nlohmann::json file = {{"schema", "gradwire.bench.collectives/1"},
                         {"tool", "made up"},
                         {"date", "2026-11-21"},
                         {"library", library},
                         {"version", "4.1.4"},
                         {"ranks", ranks},
                         {"nodes", ranks},
                         {"op", "all_reduce"},
                         {"dtype", "float32"},
                         {"in_place", false},
                         {"algorithm", "ring"},
                         {"protocol", "auto"}};
  for (int rank = 0; rank < ranks; ++rank) file["placement"].push_back(rank);
  for (int power = 20; power <= 26; ++power) {
    const double bytes = 1 << power;
    const double time = 2.0 * (ranks - 1) * (100 + bytes / ranks / 100);
    file["rows"].push_back({{"size_bytes", 1 << power},
                            {"n", 9},
                            {"mean_us", time},
                            {"min_us", time},
                            {"p50_us", time},
                            {"p95_us", time},
                            {"p99_us", time},
                            {"max_us", time}});
  }
  return file.dump();
}

constexpr const char* hosts =
    "schema: gradwire.scenario/1\n"
    "name: hosts\n"
    "cluster: {node: host_1gpu, nodes: 4, fabric: {kind: single_switch, link: {bandwidth: 100 "
    "MB/s, "
    "latency: 0 us, kind: tcp}}}\n"
    "collective: {library: mpi, algorithm: ring}\n";

}  // namespace

TEST_CASE("files of our benchmarks are fitted, and their table is used", "[cli][calibrate]") {
  const Workplace place("bench_fit");
  place.write("job.yaml", hosts);
  place.write("two.json", bench_file("mpi", 2));
  place.write("four.json", bench_file("mpi", 4));
  const auto fit =
      place.run("calibrate fit --collectives two.json four.json --cluster job.yaml -o table.yaml");
  INFO(fit.err);
  REQUIRE(fit.code == 0);
  CHECK_THAT(place.text("table.yaml"), Catch::ContainsSubstring("library: mpi"));
  const auto timed = place.run(
      "collective job.yaml --set collective.table=table.yaml --sizes 16MiB --json r.json");
  INFO(timed.err);
  REQUIRE(timed.code == 0);
  // 4 ranks: 6 steps of 100 us + 4 MiB / 100 MB/s; and 16 MiB from the GPU and back, over 12 GB/s.
  const double copies = 2 * 16777216 / 12e3;
  const auto row = nlohmann::json::parse(place.text("r.json")).at("rows").at(0);
  CHECK(row.at("time_us").get<double>() == Approx(6 * (100 + 4194304 / 100.0) + copies));
}

TEST_CASE("files of different libraries do not become one table", "[cli][calibrate]") {
  const Workplace place("bench_mixed");
  place.write("job.yaml", hosts);
  place.write("two.json", bench_file("mpi", 2));
  place.write("four.json", bench_file("gloo", 4));
  const auto fit =
      place.run("calibrate fit --collectives two.json four.json --cluster job.yaml -o table.yaml");
  CHECK(fit.code == 3);
  CHECK_THAT(fit.err, Catch::ContainsSubstring("four.json:1:1: this file is of library gloo, those "
                                               "before it are of mpi; expected one library"));
  CHECK_FALSE(place.has("table.yaml"));
}

TEST_CASE("without a GPU, or without gradwire-bench, one line says what is missing",
          "[cli][calibrate]") {
  const Workplace place("bench_no_gpu");
  const auto run = place.run("calibrate bench -o out", "CUDA_VISIBLE_DEVICES=");
  CHECK(run.code == 4);
  CHECK_THAT(run.err, Catch::ContainsSubstring("expected a node with an NVIDIA GPU") ||
                          Catch::ContainsSubstring("no gradwire-bench beside this program"));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK_FALSE(place.has("out"));
  const auto part = place.run("calibrate bench --parts node,copys -o out");
  CHECK(part.code == 2);
}

TEST_CASE("recorded compressors become costs, of a GPU whose bandwidth is known", "[cli][import]") {
  const Workplace place("import_compressors");
  const std::string times =
      R"({"n": 2, "mean_us": 3, "min_us": 2, "p50_us": 2, "p95_us": 4, "p99_us": 4, "max_us": 4,
 "pipelined_us": 2.5})";
  place.write("c.json", R"({"schema": "gradwire.bench.compressors/1", "tool": "t",
 "date": "2026-11-20", "node": "n", "device": "gpu",
 "implementation": "torch", "tables": [{"compressor": "topk", "rows": [
 {"elements": 65536, "encode": )" +
                            times + R"(, "decode": )" + times + "}]}]}");
  const auto unknown = place.run("import compressors c.json -o out.yaml");
  CHECK(unknown.code == 3);
  CHECK_THAT(unknown.err, Catch::ContainsSubstring("c.json:1:1: the record does not state"));
  CHECK_FALSE(place.has("out.yaml"));
  const auto run = place.run("import compressors c.json --gpu h200-sxm5-141gb -o out.yaml");
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK_THAT(place.text("out.yaml"), Catch::ContainsSubstring("encode: 2.5 us"));
  CHECK(place.run("check out.yaml").code == 0);
}

#ifdef GRADWIRE_HAS_MPI_BENCH
TEST_CASE("the MPI benchmark measures what was asked for, and refuses the rest",
          "[cli][calibrate][mpi]") {
  // Also where a container's root runs it.
  const std::string root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120";
  const Workplace place("bench_mpi");
  const auto run = place.run(
      "calibrate bench --backend mpi --ops all_reduce,all_gather --sizes 4KiB,64KiB --budget 0.01 "
      "-o out",
      root);
  INFO(run.err);
  REQUIRE(run.code == 0);
  const auto file = nlohmann::json::parse(place.text("out/mpi_all_gather_2.json"));
  CHECK(file.at("op") == "all_gather");
  CHECK(file.at("placement") == nlohmann::json({0, 0}));
  REQUIRE(file.at("rows").size() == 2);
  for (const auto& row : file.at("rows")) {
    CHECK(row.at("n") >= 5);
    CHECK(row.at("min_us") <= row.at("p50_us"));
    CHECK(row.at("p50_us") <= row.at("max_us"));
  }
  const auto odd = place.run("calibrate bench --backend mpi --sizes 1001B -o odd", root);
  CHECK(odd.code == 3);
  CHECK_THAT(odd.err, Catch::ContainsSubstring("--sizes:1:1: 1001 B are not a float for each of 2 "
                                               "ranks; expected multiples of 8 B"));
  CHECK_FALSE(place.has("odd"));
  const auto slots = place.run("calibrate bench --backend mpi --hosts a:x -o odd", root);
  CHECK(slots.code == 3);
  CHECK_THAT(slots.err, Catch::ContainsSubstring("--hosts:1:1: 'a:x' has no number of slots"));
  const auto one = place.run("calibrate bench --backend mpi --hosts a -o odd", root);
  CHECK(one.code == 3);
  CHECK_THAT(one.err, Catch::ContainsSubstring("--hosts:1:1: 'a' is room for one rank"));
  const auto op = place.run("calibrate bench --backend mpi --ops all_reduced -o out", root);
  CHECK(op.code == 3);
  CHECK_THAT(op.err, Catch::ContainsSubstring("did you mean 'all_reduce'?"));
}
#endif

}  // namespace gradwire
