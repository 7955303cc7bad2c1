#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

/// All-reduce on `ranks` GPUs of one host: 20 us + 4 us for each further rank + size / 100 GB/s
/// around the ring.
std::string tests_output(int ranks) {
  std::string text = "# Collective test starting: all_reduce_perf\n# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += "#  Rank " + std::to_string(rank) + " Group 0 Pid 7 on box device " +
            std::to_string(rank) + " [0x07] NVIDIA A100\n";
  }
  text +=
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n";
  for (int power = 20; power <= 28; ++power) {
    const double size = static_cast<double>(1 << power);
    const double time = 20 + 4 * (ranks - 1) + size * 2 * (ranks - 1) / ranks / 100e3;
    text += std::to_string(1 << power) + " 1 float sum -1 " + std::to_string(time) + " 1 1 0 " +
            std::to_string(time) + " 1 1 0\n";
  }
  return text;
}

constexpr const char* cluster =
    "schema: gradwire.scenario/1\n"
    "name: test\n"
    "cluster: {node: dgx_a100, nodes: 1, gpus_per_node: 8}\n";

constexpr const char* job =
    "profile: {file: resnet50/v100-sxm2-32gb_fp32_b32}\n"
    "strategy: {name: ddp, broadcast_buffers: false}\n"
    "run: {iterations: 1, warmup: 0}\n";

}  // namespace

TEST_CASE("A file that is read is not written over", "[cli][import]") {
  const Workplace place("overwrite");
  place.write("run.txt", tests_output(2));
  const auto run = place.run("import nccl-tests run.txt -o ./run.txt");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::ContainsSubstring("'./run.txt' is also read"));
  // Nor is one output by another.
  place.write("job.yaml", std::string(cluster) + job);
  const auto same = place.run("run job.yaml --json out.txt --csv ./out.txt");
  CHECK(same.code == 2);
  CHECK_THAT(same.err, Catch::ContainsSubstring("--json writes './out.txt', too"));
  CHECK_FALSE(place.has("out.txt"));
  CHECK(place.text("run.txt") == tests_output(2));
}

TEST_CASE("A run tells of collectives that its table has among other ranks only", "[cli][import]") {
  const Workplace place("otherranks");
  place.write("run.txt", tests_output(8));
  REQUIRE(place.run("import nccl-tests run.txt -o t.yaml").code == 0);
  const std::string own =
      std::string(cluster) + job + "collective: {library: nccl, table: t.yaml}\n";
  place.write("job.yaml", own);
  CHECK(place.run("run job.yaml").err.find("t.yaml") == std::string::npos);
  CHECK(place.run("run job.yaml").out.find("the table has it") == std::string::npos);
  const auto other = place.run("run job.yaml --set cluster.gpus_per_node=4");
  CHECK(other.code == 0);
  CHECK_THAT(other.out + other.err,
             Catch::ContainsSubstring("the model prices all_reduce of 4 ranks on 1 machine: the "
                                      "table has it of 8 ranks on 1 machine only"));
}

TEST_CASE("A table of another library is refused with its place", "[cli][import]") {
  const Workplace place("library");
  place.write("run.txt", tests_output(2));
  CHECK(place.run("import nccl-tests run.txt -o table.yaml").code == 0);
  std::string text = place.text("table.yaml");
  text.replace(text.find("library: nccl"), 13, "library: gloo");
  place.write("table.yaml", text);
  place.write("job.yaml",
              std::string(cluster) + "collective: {library: nccl, table: table.yaml}\n");
  const auto run = place.run("collective job.yaml");
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Catch::ContainsSubstring("table.yaml:2:10: the table is of library 'gloo'"));
}

TEST_CASE("nccl-tests' output becomes a table that check accepts and collective uses",
          "[cli][import]") {
  const Workplace place("nccl_tests");
  place.write("two.txt", tests_output(2));
  place.write("four.txt", tests_output(4));
  place.write("choices.log",
              "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}\n");
  const auto run = place.run(
      "import nccl-tests two.txt four.txt --gpu A100 -o table.yaml --nccl-log choices.log");
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK(run.err == "16 rows for whose size the log has no choice\n");
  CHECK_THAT(place.text("table.yaml"),
             Catch::ContainsSubstring("algorithm: ring, protocol: ll128, channels: 8"));
  CHECK(place.run("check table.yaml").code == 0);
  place.write("job.yaml",
              std::string(cluster) + "collective: {library: nccl, table: table.yaml}\n");
  const auto timed = place.run("collective job.yaml --set cluster.gpus_per_node=4 --sizes 1MiB");
  CHECK(timed.code == 0);
  CHECK_THAT(timed.out, Catch::ContainsSubstring("table"));

  CHECK(place.run("--quiet import nccl-tests two.txt -o quiet.yaml").err.empty());
}

TEST_CASE("A file that is no output of nccl-tests leaves nothing behind", "[cli][import]") {
  const Workplace place("no_tests");
  place.write("none.txt", "hello\n");
  const auto tests = place.run("import nccl-tests none.txt -o table.yaml");
  CHECK(tests.code == 3);
  CHECK_THAT(tests.err, Catch::ContainsSubstring("none.txt:1:1: no row of a table of nccl-tests"));
  const auto log = place.run("import nccl-log none.txt -o table.yaml");
  CHECK(log.code == 3);
  CHECK_THAT(log.err, Catch::ContainsSubstring("none.txt:1:1: no line of NCCL's tuning"));
  CHECK(place.run("import nccl-tests absent.txt -o table.yaml").code == 3);
  CHECK_FALSE(place.has("table.yaml"));
  CHECK(place.run("import nccl-tests none.txt --op all_redcue -o table.yaml").code == 2);
}

TEST_CASE("calibrate fit tells both errors and prices rank counts that were not measured",
          "[cli][calibrate]") {
  const Workplace place("fit");
  place.write("two.txt", tests_output(2));
  place.write("four.txt", tests_output(4));
  place.write("cluster.yaml", cluster);
  const auto run = place.run(
      "calibrate fit --collectives two.txt four.txt --cluster cluster.yaml -o fitted.yaml");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("calibration"));
  CHECK_THAT(run.out, Catch::ContainsSubstring("hold-out over rank counts"));
  CHECK(place.run("check fitted.yaml").code == 0);
  place.write("job.yaml",
              std::string(cluster) + "collective: {library: nccl, table: fitted.yaml}\n");
  const auto timed = place.run("collective job.yaml --sizes 256MiB --json out.json");
  CHECK(timed.code == 0);
  CHECK_THAT(place.text("out.json"), Catch::ContainsSubstring("\"source\": \"fit\""));

  const auto strange = place.run(
      "calibrate fit --collectives two.txt --cluster cluster.yaml --ranks 32 --nodes 4 -o no.yaml");
  CHECK(strange.code == 3);
  CHECK_THAT(strange.err, Catch::ContainsSubstring("no measurement fits the cluster"));
  CHECK_FALSE(place.has("no.yaml"));
}

}  // namespace gradwire
