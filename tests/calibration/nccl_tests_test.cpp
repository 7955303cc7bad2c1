#include "calibration/import/nccl_tests.hpp"

#include <string>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// Two hosts of one GPU each, as every version lists them.
const std::string devices =
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   4001 on      alpha device  0 [0000:07:00] NVIDIA A100\n"
    "#  Rank  1 Group  0 Pid   4002 on       beta device  0 [0000:07:00] NVIDIA A100\n"
    "#\n";

/// Since 2.13: the program is named, there is a root, wrong results are counted.
const std::string new_head =
    "# nccl-tests version 2.17.6 nccl-headers=22805 nccl-library=22805\n"
    "# Collective test starting: all_reduce_perf\n" +
    devices +
    "#                                                  out-of-place               in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
    "time "
    "  algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
    "(us)  (GB/s)  (GB/s)\n";

ImportedTables read(const std::string& text, const NcclTestsOptions& options = {}) {
  return read_nccl_tests(text, "run.txt", options);
}

double microseconds(const ImportedTables& tables, std::size_t row) {
  return tables.series.at(0).rows.at(row).time.count() * 1e6;
}

}  // namespace

TEST_CASE("The text of nccl-tests becomes a series of its operation, ranks and nodes",
          "[import][nccl-tests]") {
  const std::string rows =
      "     1048576        262144     float     sum      -1    70.50   14.87   14.87       0    "
      "71.50   14.67   14.67     N/A\n"
      "     2097152        524288     float     sum      -1   116.00   18.08   18.08       0   "
      "117.00   17.92   17.92     N/A\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 16.3\n";
  const ImportedTables tables = read(new_head + rows);
  REQUIRE(tables.series.size() == 1);
  const MeasuredSeries& series = tables.series[0];
  CHECK(series.op == CollectiveKind::all_reduce);
  CHECK(series.ranks == 2);
  CHECK(series.machines == 2);
  CHECK(series.version == "2.28.5");
  CHECK_FALSE(series.in_place);
  CHECK(series.source.file == "run.txt");
  REQUIRE(series.rows.size() == 2);
  CHECK(series.rows[0].size == Bytes{1048576});
  CHECK(microseconds(tables, 0) == Approx(70.5));
  CHECK(microseconds(tables, 1) == Approx(116));

  SECTION("in place is the other time") {
    const ImportedTables other = read(new_head + rows, {.in_place = true});
    CHECK(other.series.at(0).in_place);
    CHECK(microseconds(other, 0) == Approx(71.5));
  }
  SECTION("options count before the file") {
    const ImportedTables other =
        read(new_head + rows, {.op = CollectiveKind::broadcast, .ranks = 16, .nodes = 4});
    CHECK(other.series.at(0).op == CollectiveKind::broadcast);
    CHECK(other.series.at(0).ranks == 16);
    CHECK(other.series.at(0).machines == 4);
  }
}

TEST_CASE("Old formats of nccl-tests have other columns", "[import][nccl-tests]") {
  const std::string rows_without_root =
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  busbw  error\n"
      "           0             0   float     sum     1.63    0.00    0.00    N/A     1.50    0.00 "
      " "
      "  0.00    N/A\n"
      "           0             0   float     sum     1.62    0.00    0.00    N/A     1.49    0.00 "
      " "
      "  0.00    N/A\n"
      "        1024           256   float     sum    34.20    0.03    0.03  1e-07    34.40    0.03 "
      "   0.03  1e-07\n";
  // Before 2.0: other words for size and check.
  const std::string oldest =
      "#  bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
      "busbw      res\n"
      "    1024           256   float     sum    34.20   0.03   0.03    1e-07    34.40   0.03   "
      "0.03    1e-07\n";
  // An all-to-all leaves redop blank.
  const std::string blank =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "        1024            32     float                    34.20    0.03    0.02      0    "
      "34.40    0.03    0.02    N/A\n";
  for (const std::string& table : {rows_without_root, oldest, blank}) {
    const ImportedTables tables = read(devices + table, {.op = CollectiveKind::all_to_all});
    REQUIRE(tables.series.at(0).rows.size() == 1);
    CHECK(microseconds(tables, 0) == Approx(34.2));
    const ImportedTables other =
        read(devices + table, {.op = CollectiveKind::all_to_all, .in_place = true});
    CHECK(microseconds(other, 0) == Approx(34.4));
  }
  const ImportedTables told = read(devices + rows_without_root, {.op = CollectiveKind::all_reduce});
  REQUIRE(told.notes.size() == 1);
  CHECK(told.notes[0] == "2 rows of 0 bytes left out");
}

TEST_CASE("Statistics and time stamps beside the times do no harm", "[import][nccl-tests]") {
  const std::string statistics =
      "#       size  count   type  redop  root   time  algbw  busbw #wrong  i_min  i_max  i_p99  "
      "i_cv%   time  algbw  busbw #wrong  i_min  i_max  i_p99  i_cv%  timestamp\n"
      "        1024    256  float    sum    -1  34.20   0.03   0.03      0  33.00  39.00  38.00   "
      "2.10  34.40   0.03   0.03    N/A  33.10  39.10  38.10   2.20  2026-01-02 03:04:05\n";
  CHECK(microseconds(read(devices + "all_reduce_perf\n" + statistics), 0) == Approx(34.2));
  CHECK(microseconds(read(devices + "all_reduce_perf\n" + statistics, {.in_place = true}), 0) ==
        Approx(34.4));
}

TEST_CASE("NCCL's own lines may stand between and behind the rows", "[import][nccl-tests]") {
  const std::string row =
      "        1024           256     float     sum      -1    34.20    0.03    0.03       0    "
      "34.40    0.03    0.03     N/A";
  const std::string text = new_head + "alpha:4001:4010 [0] NCCL INFO Channel 00/0 : 0 1\n" + row +
                           " alpha:4001:4010 [0] NCCL INFO comm 0x55 rank 0 - Destroy COMPLETE\n";
  const ImportedTables tables = read(text);
  REQUIRE(tables.series.at(0).rows.size() == 1);
  CHECK(microseconds(tables, 0) == Approx(34.2));
}

TEST_CASE("Tables that follow each other are told apart, repeats give the median",
          "[import][nccl-tests]") {
  const auto row = [](const std::string& time) {
    return "  1024  256  float  sum  -1  " + time + "  0.03  0.03  0  9  0.03  0.03  0\n";
  };
  std::string gather = new_head;
  gather.replace(gather.find("all_reduce_perf"), 15, "all_gather_perf");
  const std::string text =
      new_head + row("30") + new_head + row("36") + new_head + row("90") + gather + row("20");
  const ImportedTables tables = read(text);
  REQUIRE(tables.series.size() == 2);
  CHECK(tables.series[0].op == CollectiveKind::all_reduce);
  CHECK(microseconds(tables, 0) == Approx(36));
  CHECK(tables.series[1].op == CollectiveKind::all_gather);
  CHECK(tables.series[1].rows[0].time.count() * 1e6 == Approx(20));
  REQUIRE(tables.notes.size() == 1);
  CHECK(tables.notes[0] ==
        "all_reduce on 2 ranks: 3 tables; of sizes measured several times the median");

  // Over files: of 36 and 40 us the mean, 38.
  const ImportedTables merged =
      merge_files({read(new_head + row("36")), read(new_head + row("40"))});
  CHECK(microseconds(merged, 0) == Approx(38));
  CHECK(merged.series[0].source.file == "run.txt, run.txt");
}

TEST_CASE("What is missing in an output of nccl-tests is reported with its place",
          "[import][nccl-tests]") {
  // new_head has 9 lines: a row stands on the tenth.
  const std::string good = "  1024  256  float  sum  -1  30  0.03  0.03  0  9  0.03  0.03  0\n";
  const auto [text, message] = GENERATE_COPY(table<std::string, std::string>({
      {"", "run.txt:1:1: no row of a table of nccl-tests"},
      {new_head, "run.txt:1:1: no row of a table of nccl-tests"},
      {new_head + "  1024  256  float  sum  -1  30  0.03\n",
       "run.txt:10:34: a row of 7 columns; expected 13 as its header says"},
      {new_head + "  1024  256  float  sum  -1  0.00  0.03  0.03  0  9  0.03  0.03  0\n",
       "run.txt:10:30: '0.00' is no time; expected microseconds above 0"},
      {new_head + "  -1024  256  float  sum  -1  30  0.03  0.03  0  9  0.03  0.03  0\n",
       "run.txt:10:3: '-1024' is no size; expected whole bytes, at least 0"},
      {new_head + " 99999999999999999999  1  float  sum  -1  30  0.03  0.03  0  9  0.03  0.03  0\n",
       "run.txt:10:2: '99999999999999999999' is no size"},
      {new_head + good + "  2048\n", "run.txt:11:3: a row of 1 columns"},
      {new_head.substr(0, new_head.find("# Using")) +
           new_head.substr(new_head.find("#       size")) + good,
       "run.txt:3:1: the file does not list its devices"},
      {new_head.substr(new_head.find("# Using")) + good,
       "run.txt:6:1: the file does not name the program"},
  }));
  CHECK_THROWS_WITH(read(text), Catch::ContainsSubstring(message));
}

TEST_CASE("The JSON of nccl-tests says as much as its text", "[import][nccl-tests]") {
  const std::string head =
      "{\"version\": 4, \"args\": [\"/opt/build/alltoall_perf\", \"-J\", \"x\"],\n"
      " \"nccl_version\": 22907,\n"
      " \"config\": {\"nthreads\": 1, \"ngpus\": 1, \"devices\": [\n"
      "  {\"rank\": 0, \"hostname\": \"alpha\"}, {\"rank\": 1, \"hostname\": \"alpha\"}]},\n"
      " \"results\": [\n";
  const std::string result =
      "  {\"size\": 4096, \"count\": 512, \"out_of_place\": {\"time\": 7.5, \"nwrong\": null},\n"
      "   \"in_place\": {\"time\": 7.25, \"nwrong\": 1.0},\n"
      "   \"tuning\": {\"algo\": \"RING\", \"proto\": \"LL128\", \"#channels\": 2}}]}";
  const ImportedTables tables = read(head + result);
  const MeasuredSeries& series = tables.series.at(0);
  CHECK(series.op == CollectiveKind::all_to_all);
  CHECK(series.ranks == 2);
  CHECK(series.machines == 1);
  CHECK(series.version == "2.29.7");
  CHECK(microseconds(tables, 0) == Approx(7.5));
  CHECK(series.rows[0].algorithm == "ring");
  CHECK(series.rows[0].protocol == "ll128");
  CHECK(series.rows[0].channels == 2);
  const ImportedTables in_place = read(head + result, {.in_place = true});
  CHECK(microseconds(in_place, 0) == Approx(7.25));
  CHECK(in_place.notes.at(0) ==
        "1 rows whose results nccl-tests found wrong are taken all the same");

  CHECK_THROWS_WITH(
      read(head + "  {\"size\": 4096}]}"),
      "run.txt:5:2: results[0]: no 'out_of_place.time'; expected microseconds above 0");
  CHECK_THROWS_WITH(read(head + "  {\"size\": }]}"),
                    Catch::ContainsSubstring("run.txt:6:12: the JSON breaks off or is none"));
}

}  // namespace gradwire
