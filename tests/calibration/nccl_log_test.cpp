#include "calibration/import/nccl_log.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

const std::string prefix = "alpha:4001:4010 [0] NCCL INFO ";

/// As NCCL prints it from 2.7 on; a block has three algorithms. Figures invented.
std::string tuning_table() {
  return prefix + "  Algorithm   |                            Tree                  |" +
         "                            Ring                  |\n" + prefix +
         "  Protocol    |             LL |          LL128 |         Simple |             LL |" +
         "          LL128 |         Simple |\n" + prefix +
         " Max NThreads |            512 |            640 |            512 |            512 |" +
         "            640 |            512 |\n" + prefix +
         "    Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     8.0/  10.0 |" +
         "    20.0/  40.0 |    14.0/  80.0 |\n" + prefix +
         "    AllReduce |    12.0/   6.0 |    20.0/  30.0 |    60.0/  60.0 |    15.0/  10.0 |" +
         "    40.0/  50.0 |    60.0/ 100.0 |\n";
}

}  // namespace

TEST_CASE("The choices of NCCL up to 2.22 come with their time", "[import][nccl-log]") {
  const std::string text = "65536 Bytes -> Algo 0 proto 0 time 178.501038\n" + prefix +
                           "8388608 Bytes -> Algo 1 proto 2 time 3348.227051\n" + prefix +
                           "8388608 Bytes -> Algo 1 proto 2 time 3348.227051\n";
  const NcclLog log = read_nccl_log(text, "nccl.log");
  REQUIRE(log.choices.size() == 2);
  CHECK_FALSE(log.choices[0].op);
  CHECK(log.choices[0].algorithm == "tree");
  CHECK(log.choices[0].protocol == "ll");
  CHECK(log.choices[1].algorithm == "ring");
  CHECK(log.choices[1].protocol == "simple");
  const ImportedTables tables =
      tables_of(log, "nccl.log", {.op = CollectiveKind::all_reduce, .ranks = 32, .nodes = 4});
  const MeasuredSeries& series = tables.series.at(0);
  CHECK(series.source.kind == "derived");
  REQUIRE(series.rows.size() == 2);
  CHECK(series.rows[1].time.count() * 1e6 == Approx(3348.227051));
  CHECK_THROWS_WITH(tables_of(log, "nccl.log", {.ranks = 32, .nodes = 4}),
                    "nccl.log:1:1: the log does not name the operation; expected --op");
}

TEST_CASE("The choices of NCCL 2.28 come with channels; the tuning table gives their time",
          "[import][nccl-log]") {
  const std::string text =
      prefix + "comm 0x55d0 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0\n" +
      tuning_table() + prefix +
      "AllReduce: 4000000 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}\n" + prefix +
      "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/24.000000, type NVL/PIX, sameChannels 1\n";
  const NcclLog log = read_nccl_log(text, "nccl.log");
  REQUIRE(log.choices.size() == 1);
  CHECK(log.choices[0].op == CollectiveKind::all_reduce);
  CHECK(log.choices[0].channels == 8);
  CHECK_FALSE(log.choices[0].time);
  CHECK(log.tuning.size() == 12);
  REQUIRE(log.graphs.size() == 1);
  CHECK(log.graphs[0].pattern == 4);
  CHECK(log.graphs[0].channels == 12);
  CHECK(log.graphs[0].inside.count() == Approx(20e9));
  CHECK(log.graphs[0].between.count() == Approx(24e9));
  const ImportedTables tables = tables_of(log, "nccl.log", {});
  const MeasuredSeries& series = tables.series.at(0);
  CHECK(series.ranks == 8);
  CHECK(series.machines == 2);
  // Ring, LL128: 40 us + 4e6 B / 50 GB/s = 120 us.
  CHECK(series.rows.at(0).time.count() == Approx(120e-6));
  CHECK(tables.notes.at(0) ==
        "1 times follow from the tuning table, without NCCL's corrections for single sizes");
  CHECK_THAT(series.source.notes, Catch::ContainsSubstring("pattern 4: 12 channels at 20 GB/s"));
}

TEST_CASE("A log names the algorithm, protocol and channels of measured rows",
          "[import][nccl-log]") {
  const NcclLog log = read_nccl_log(
      "AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
      "AllGather: 2048 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n",
      "nccl.log");
  std::vector<MeasuredSeries> series(1);
  series[0].rows = {{Bytes{1024}, Seconds{1e-5}, "", ""}, {Bytes{2048}, Seconds{2e-5}, "", ""}};
  CHECK(name_choices(log, series) == 1);  // the all-gather is no choice for an all-reduce
  CHECK(series[0].rows[0].algorithm == "tree");
  CHECK(series[0].rows[0].protocol == "ll");
  CHECK(series[0].rows[0].channels == 2);
  CHECK(series[0].rows[1].algorithm.empty());
}

TEST_CASE("A damaged log is reported with its place", "[import][nccl-log]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"hello\n", "nccl.log:1:1: no line of NCCL's tuning"},
      {"x\n1024 Bytes -> Algo 9 proto 0 time 3\n", "nccl.log:2:20: '9' is no algorithm of NCCL"},
      {"1024 Bytes -> Algo 0 proto LL9 time 3\n", "nccl.log:1:28: 'LL9' is no protocol of NCCL"},
      {"many Bytes -> Algo 0 proto 0 time 3\n", "nccl.log:1:1: 'many' is no number of bytes"},
      {"1024 Bytes -> Algo 0 proto 0 time\n", "nothing after 'time'"},
      {"    AllReduce |  12.0/ 6.0 |\n", "nccl.log:1:18: '12.0/ 6.0' is no cell of a tuning table"},
  }));
  CHECK_THROWS_WITH(read_nccl_log(text, "nccl.log"), Catch::ContainsSubstring(message));
}

TEST_CASE("The log of 32 RTX 3090 on 4 nodes gives NCCL's 25 choices", "[import][nccl-log]") {
  const auto file = test::shared("data/nccl_logs/nccl_predicted_time_4x8_rtx3090_fdr.txt");
  if (test::skipped_without(file)) return;
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const ImportedTables tables =
      tables_of(read_nccl_log(text, file.string()), file.string(),
                {.op = CollectiveKind::all_reduce, .ranks = 32, .nodes = 4});
  const std::vector<MeasuredRow>& rows = tables.series.at(0).rows;
  REQUIRE(rows.size() == 25);
  // The file's first and last line: 64 B in 49.675526 us by algorithm 0 (Tree), protocol 0 (LL);
  // 1 GiB in 298222.78125 us by Tree's successor 1 (Ring), protocol 2 (Simple).
  CHECK(rows.front().size == Bytes{64});
  CHECK(rows.front().time.count() * 1e6 == Approx(49.675526));
  CHECK(rows.front().algorithm == "tree");
  CHECK(rows.front().protocol == "ll");
  CHECK(rows.back().size == Bytes{1 << 30});
  CHECK(rows.back().time.count() * 1e6 == Approx(298222.78125));
  CHECK(rows.back().algorithm == "ring");
  CHECK(rows.back().protocol == "simple");
}

}  // namespace gradwire
