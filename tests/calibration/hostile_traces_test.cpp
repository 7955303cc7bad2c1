// Traces that were made to do harm: names that grow when they are read, databases that compute,
// times that overflow.

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

#include "calibration/attribution/attribution.hpp"
#include "calibration/import/execution_trace.hpp"
#include "calibration/import/json_file.hpp"
#include "calibration/import/kernel_names.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nsys.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/error.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"
#include "tests/scratch_folder.hpp"

namespace gradwire::calibration {
namespace {

/// f(A<int, int>, A<that, that>, ...): each parameter prints the one before twice, so that a name
/// of 11 letters each means 2^count.
std::string doubling_name(int count, const std::string& function = "1f") {
  std::string name = "_Z" + function + "1AIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int i = 0; i < count; ++i) {
    const std::string last = fmt::format("S{}_", digits.at(static_cast<std::size_t>(i)));
    name += "S_I" + last + last + "E";
  }
  return name;
}

/// Makes a database by these statements.
std::string database_of(const gradwire::test::ScratchFolder& folder,
                        const std::string& statements) {
  const std::string file = folder.write("", "made.sqlite");
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  char* error = nullptr;
  const int code = sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &error);
  INFO((error == nullptr ? "" : error));
  CHECK(code == SQLITE_OK);
  sqlite3_free(error);
  sqlite3_close(database);
  return file;
}

constexpr const char* strings = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);";

}  // namespace

TEST_CASE("a kernel's name of 300 bytes never becomes gigabytes", "[calibration][hostile]") {
  KernelNames names;
  const std::string bomb = doubling_name(26);
  REQUIRE(bomb.size() <= 320);
  const std::clock_t begin = std::clock();  // of this process, however many others run
  const std::string outline = names.readable(bomb);
  CHECK(std::clock() - begin < CLOCKS_PER_SEC);
  CHECK(outline.starts_with("f<... "));
  CHECK(outline.size() < 30);
  CHECK(names.readable(doubling_name(27)) != outline);  // two stay two
  CHECK(names.readable(doubling_name(26, "1g")).starts_with("g<... "));
}

TEST_CASE("an everyday kernel's name is demangled whole", "[calibration][hostile]") {
  KernelNames names;
  CHECK(names
            .readable("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
                      "NS_6detail5ArrayIPcLm3EEEEEviT0_T1_")
            .starts_with("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor"
                         "_add<float>, at::detail::Array<char*, 3ul> >(int, "));
  CHECK(names.readable("ncclDevKernel_AllReduce_Sum_f32_RING_LL") ==
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  CHECK(names.readable("_Z") == "_Z");
}

TEST_CASE("a name longer than any symbol is cut to its scope and name", "[calibration][hostile]") {
  KernelNames names;
  std::string name = "_ZN7cutlass6KernelI";
  for (int i = 0; i < 3000; ++i) name += "Li1E";
  const std::string outline = names.readable(name + "EEvv");
  CHECK(outline.starts_with("cutlass::Kernel<... "));
  CHECK(names.readable("_ZN99999999999999999999x" + name).starts_with("_ZN9999"));
  CHECK(outline_of("_Z") == "_Z");
}

TEST_CASE("a query of a database ends at its deadline, with the limit's name",
          "[calibration][hostile]") {
  const gradwire::test::ScratchFolder folder;
  // 100 000 rows are some million steps of SQLite's machine; each 10 000th looks at the clock.
  const std::string file = database_of(
      folder, std::string(strings) +
                  "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < "
                  "100000) INSERT INTO StringIds SELECT id, 'text' || id FROM n;"
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, "
                  "streamId INT, correlationId INT, shortName INT);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 0, 1, 1);");
  CHECK_THROWS_WITH(read_nsys(file, std::chrono::milliseconds(0)),
                    Catch::ContainsSubstring("reading takes more than 25 seconds (limit "
                                             "sqlite_seconds: one query of an Nsight Systems "
                                             "database)"));
  CHECK(read_nsys(file).device.size() == 1);
}

TEST_CASE("a database's views and computed columns are not read", "[calibration][hostile]") {
  const gradwire::test::ScratchFolder folder;
  const std::string kernels =
      "(start INT, end INT, deviceId INT, streamId INT, correlationId INT, shortName INT)";
  SECTION("a view in the place of the strings") {
    const std::string file = database_of(
        folder,
        "CREATE VIEW stringids AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM "
        "n) SELECT id, 'x' AS value FROM n;");
    CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("'StringIds' is no plain table"));
  }
  SECTION("a view in the place of the kernels") {
    const std::string file = database_of(
        folder, std::string(strings) +
                    "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end, 0 AS "
                    "deviceId, 0 AS streamId, 1 AS correlationId, 1 AS shortName;");
    CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("is no plain table"));
  }
  SECTION("a column that is computed") {
    const std::string file = database_of(
        folder, std::string(strings) +
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT AS "
                    "(length(zeroblob(1000000))), deviceId INT, streamId INT, correlationId INT, "
                    "shortName INT);");
    CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("has no column 'end'"));
  }
  SECTION("a trigger changes nothing that is read") {
    const std::string file = database_of(
        folder, std::string(strings) + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL " + kernels +
                    ";CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT 1; END;"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 0, 1, 1);");
    CHECK(read_nsys(file).device.size() == 1);
  }
  SECTION("a value of megabytes") {
    const std::string file = database_of(
        folder, std::string(strings) + "INSERT INTO StringIds VALUES (1, zeroblob(2000000));");
    CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("limit sqlite_value_bytes"));
  }
  SECTION("times beyond 73 years") {
    const std::string file = database_of(
        folder, std::string(strings) + "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL " + kernels +
                    ";INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 4611686018427387904, 0, 0, "
                    "1, 1);");
    CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("from 1 to 4611686018427387904"));
  }
}

TEST_CASE("a damaged database is reported before it is read", "[calibration][hostile]") {
  const gradwire::test::ScratchFolder folder;
  const std::string file = database_of(
      folder, std::string(strings) +
                  "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 5000) "
                  "INSERT INTO StringIds SELECT id, 'kernel' || id FROM n;");
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(3 * 4096);  // the fourth page
  bytes << std::string(2000, '\xFF');
  bytes.close();
  CHECK_THROWS_WITH(read_nsys(file), Catch::ContainsSubstring("the database is damaged"));
}

TEST_CASE("names of another encoding are escaped in a trace", "[calibration][hostile]") {
  NameTable names;
  const NameId latin1 = names.id("caf\xE9\x1B");
  CHECK(names[latin1] == "caf\\xe9\\x1b");
  CHECK(names.id("caf\xE9\x1B") == latin1);
  CHECK(names.id("conv1") != latin1);
}

TEST_CASE("times that fall or overflow are refused", "[calibration][hostile]") {
  Trace trace = test::toy_trace(3);
  CHECK_NOTHROW(check_times(trace));
  SECTION("a kernel that ends before it begins") {
    trace.device[1].end = trace.device[1].start - 1;
    CHECK_THROWS_WITH(check_times(trace), Catch::ContainsSubstring("device record 1"));
  }
  SECTION("a range beyond the latest instant") {
    trace.ranges[0].end = instant_max + 1;
    CHECK_THROWS_AS(check_times(trace), ConfigError);
  }
  SECTION("a mark before the earliest") {
    trace.marks.push_back({-instant_max - 1, 0, 0, 0});
    CHECK_THROWS_AS(check_times(trace), ConfigError);
  }
  SECTION("kernels that last 73 years together") {
    for (auto& record : trace.device) {
      record.start = 0;
      record.end = instant_max / 2;
    }
    CHECK_THROWS_WITH(check_times(trace), Catch::ContainsSubstring("73 years together"));
  }
}

TEST_CASE("ranges inside each other without end are refused", "[calibration][hostile]") {
  Trace trace = test::toy_trace(3);
  for (Nanoseconds i = 0; i < 3000; ++i) {
    trace.ranges.push_back({i, 1'000'000'000 - i, 0, 0, 99});
  }
  CHECK_THROWS_WITH(attribute(trace), Catch::ContainsSubstring("limit trace_depth"));
}

TEST_CASE("a trace of equal operators is completed in linear time", "[calibration][hostile]") {
  // 40000 equal names, and 20000 of them and another: a search by hand compares 4 * 10^8 times.
  Trace timed;
  Trace execution;
  for (Trace* trace : {&timed, &execution}) {
    const NameId name = trace->names.id("aten::add");
    const Nanoseconds count = trace == &timed ? 40'000 : 20'000;
    for (Nanoseconds i = 0; i < count; ++i) {
      trace->ranges.push_back({2 * i, 2 * i + 1, name, name, 1});
    }
  }
  execution.ranges.back().name = execution.names.id("aten::mul");
  const std::clock_t begin = std::clock();
  CHECK_THROWS_AS(complete_from(timed, execution), ConfigError);
  timed.ranges.back().name = timed.names.id("aten::mul");
  CHECK(complete_from(timed, execution) == 20'000);
  CHECK(std::clock() - begin < 3 * CLOCKS_PER_SEC);
}

TEST_CASE("JSON is bounded in depth, keys, values and texts, and plain", "[calibration][hostile]") {
  const auto refusal = [](const std::string& text) {
    return gradwire::test::refusal_of([&] { return parse_json(text, "f.json"); });
  };
  CHECK_THAT(refusal(std::string(65, '[')), Catch::ContainsSubstring("limit yaml_depth"));
  CHECK_THAT(
      refusal("[" + std::string(1'100'000, ' ') + "\"" + std::string(1'100'000, 'x') + "\"]"),
      Catch::ContainsSubstring("limit string_bytes"));
  CHECK(refusal("{\"a\": 1, \"a\": 2}") ==
        "f.json:1:10: duplicate key 'a'; expected each key once, the first is at 1:2");
  CHECK(refusal("{\"a\": \"\\u001b[2J\"}") ==
        "f.json:1:7: the control character U+001B; expected plain text in UTF-8");
  CHECK(refusal("[\"caf\xE9\"]") ==
        "f.json:1:6: the byte 0xE9, which is no UTF-8; expected text in UTF-8");
  std::string zeros = "[0";
  for (int i = 0; i < 300'000; ++i) zeros += ",0";
  CHECK_THAT(refusal(zeros + "]"), Catch::ContainsSubstring("limit yaml_values"));
}

}  // namespace gradwire::calibration
