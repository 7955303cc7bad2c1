#include "calibration/import/nsys.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "calibration/attribution/attribution.hpp"
#include "sim/core/error.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

/// A database of one test, gone at its end.
class Database {
 public:
  Database()
      : path_(std::filesystem::temp_directory_path() /
              ("gradwire_nsys." + std::to_string(getpid()) + ".sqlite")) {
    std::filesystem::remove(path_);
    sqlite3_open(path_.c_str(), &database_);
  }
  ~Database() {
    sqlite3_close(database_);
    std::filesystem::remove(path_);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& statement) const {
    REQUIRE(sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
};

// Columns as in NVIDIA's "SQLite Export Schema Reference" (Nsight Systems 2021.5), those that are
// read and some that are not.
const char* const schema =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);CREATE TABLE "
    "CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, "
    "contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT, globalPid INT, "
    "demangledName INT NOT NULL, shortName INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, "
    "gridZ INT NOT NULL);CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT "
    "NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId "
    "INT, bytes INT NOT NULL, copyKind INT NOT NULL);CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
    "(start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT, correlationId "
    "INT, nameId INT NOT NULL, returnValue INT NOT NULL);CREATE TABLE NVTX_EVENTS (start INT NOT "
    "NULL, end INT, eventType INT NOT NULL, rangeId INT, category INT, color INT, text TEXT, "
    "globalTid INT, endGlobalTid INT, textId INT, domainId INT);";

/// Puts a trace into the tables.
void fill(const Database& database, const Trace& trace) {
  database.run("BEGIN");
  for (NameId id = 0; id < trace.names.size(); ++id) {
    database.run("INSERT INTO StringIds VALUES (" + std::to_string(id + 1) + ", '" +
                 trace.names[id] + "')");
  }
  const auto number = [](auto value) { return std::to_string(value); };
  for (const DeviceRecord& record : trace.device) {
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + number(record.start) + "," +
                 number(record.end) + ",0,1," + number(record.stream) + "," +
                 number(record.correlation) + ",1," + number(record.name + 1) + "," +
                 number(record.name + 1) + ",4,2,1)");
  }
  const std::int64_t process = std::int64_t{9} << 24U;  // globalTid holds process and thread
  for (const CallRecord& call : trace.calls) {
    database.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + number(call.start) + "," +
                 number(call.end) + ",0," + number(process + call.thread) + "," +
                 number(call.correlation) + "," + number(call.name + 1) + ",0)");
  }
  for (const RangeRecord& range : trace.ranges) {
    std::string name = trace.names[range.name];
    if (range.sequence != no_sequence) name += ", seq = " + number(range.sequence) + ", op_id = 3";
    if (range.shapes != no_name) name += ", sizes = " + trace.names[range.shapes];
    database.run("INSERT INTO NVTX_EVENTS VALUES (" + number(range.start) + "," +
                 number(range.end) + ",59,0,0,0,'" + name + "'," + number(process + range.thread) +
                 ",0,NULL,0)");
  }
  database.run("COMMIT");
}

TEST_CASE("A recording of Nsight Systems is attributed as the trace that it holds",
          "[calibration][nsys]") {
  test::ToyOptions options;
  options.shapes = true;
  const Trace trace = test::toy_trace(3, options);
  const Database database;
  database.run(schema);
  fill(database, trace);
  const Trace read = read_nsys(database.path());
  CHECK(read.device.size() == trace.device.size());
  CHECK(read.device[0].blocks == 8);
  CHECK(read.missing.empty());
  const Attribution expected = attribute(trace);
  const Attribution attribution = attribute(read);
  REQUIRE(attribution.layers.size() == expected.layers.size());
  CHECK(attribution.layers[0].kind == "conv3");
  CHECK(attribution.layers[2].parameters.size() == 2);
  for (std::size_t i = 0; i < expected.iterations.size(); ++i) {
    CHECK(attribution.iterations[i].forward == expected.iterations[i].forward);
    CHECK(attribution.iterations[i].backward == expected.iterations[i].backward);
    CHECK(attribution.iterations[i].ready == expected.iterations[i].ready);
  }
}

TEST_CASE("Registered names, marks and copies are read, and what is absent is reported",
          "[calibration][nsys]") {
  const Database database;
  database.run(schema);
  database.run("INSERT INTO StringIds VALUES (5, 'gradwire.optimizer')");
  database.run("INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 0, 0, 0, NULL, 77, 0, 5, 0)");
  database.run(
      "INSERT INTO NVTX_EVENTS VALUES (30, NULL, 34, 0, 0, 0, 'gradwire.iteration:1', 77, "
      "0, NULL, 0)");
  database.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (40, 50, 0, 1, 7, 3, 4096, 1)");
  const Trace trace = read_nsys(database.path());
  REQUIRE(trace.ranges.size() == 1);
  CHECK(trace.names[trace.ranges[0].name] == "gradwire.optimizer");
  REQUIRE(trace.marks.size() == 1);
  CHECK(trace.marks[0].time == 30);
  REQUIRE(trace.device.size() == 1);
  CHECK(trace.device[0].copy == CopyKind::host_to_device);
  CHECK(trace.device[0].bytes == 4096);
  REQUIRE(trace.missing.size() == 2);
  CHECK(trace.missing[0] == "calls of CUDA's runtime (nsys profile --trace=cuda)");
}

TEST_CASE("A database of something else is refused by the table that it lacks",
          "[calibration][nsys]") {
  const Database database;
  database.run("CREATE TABLE other (id INT)");
  CHECK_THROWS_WITH(read_nsys(database.path()), Catch::ContainsSubstring("no table 'StringIds'"));
  database.run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
  database.run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT)");
  CHECK_THROWS_WITH(
      read_nsys(database.path()),
      Catch::ContainsSubstring("table 'CUPTI_ACTIVITY_KIND_KERNEL' has no column 'streamId'"));
  CHECK_THROWS_WITH(read_nsys("/nonexistent"), Catch::ContainsSubstring("cannot be read"));
}

TEST_CASE("A row that ends before it begins is refused", "[calibration][nsys]") {
  const Database database;
  database.run(schema);
  database.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (40, 50, 0, 1, 7, 3, 4096, 1)");
  database.run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50, 40, 0, 1, 7, 3, 4096, 1)");
  CHECK_THROWS_WITH(
      read_nsys(database.path()),
      Catch::ContainsSubstring("table 'CUPTI_ACTIVITY_KIND_MEMCPY', row 2: from 50 to 40 ns"));
}

TEST_CASE("A file that is no database is refused", "[calibration][nsys]") {
  const auto path = std::filesystem::temp_directory_path() / "gradwire_nsys_test.txt";
  std::ofstream(path) << std::string(5000, 'x');
  CHECK_THROWS_AS(read_nsys(path.string()), ConfigError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gradwire::calibration
