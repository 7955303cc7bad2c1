#include "calibration/import/nsys.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/import/recording.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::calibration {
namespace {

/// NVTX_EVENTS.eventType ("SQLite Export Schema Reference", NVTX).
constexpr int event_mark = 34;
constexpr int event_push_pop_range = 59;
constexpr int event_start_end_range = 60;

constexpr const char* expected_export =
    "a recording of Nsight Systems, exported with nsys export --type sqlite";

/// A database that somebody else made: its schema is not trusted, only plain tables are read, and
/// each query has a deadline. https://www.sqlite.org/security.html
class Database {
 public:
  Database(const std::string& file, std::chrono::milliseconds query_time)
      : file_(file), query_time_(query_time) {
    require_file(file, expected_export);
    if (!std::filesystem::is_regular_file(file)) fail_unreadable(file, expected_export);
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) fail_unreadable(file, expected_export);
    harden();
    check_structure();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError({file_, 0, 0}, what + "; expected " + expected_export);
  }

  [[nodiscard]] bool has_column(const std::string& table, const std::string& column) const {
    bool found = false;
    // It lists no computed columns.
    run(fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name = '{}'", table, column),
        [&](sqlite3_stmt*) { found = true; });
    return found;
  }

  /// Whether a table is there. @throws ConfigError where it is a view or a virtual table.
  [[nodiscard]] bool has_table(const std::string& table) const {
    bool found = false;
    bool plain = true;
    run(fmt::format("SELECT type = 'table' AND rootpage > 0 AND sql NOT LIKE 'CREATE VIRTUAL%' "
                    "FROM sqlite_master WHERE name = '{}' COLLATE NOCASE AND type <> 'index'",
                    table),
        [&](sqlite3_stmt* row) {
          found = true;
          plain = plain && sqlite3_column_int(row, 0) != 0;
        });
    if (!plain) fail(fmt::format("'{}' is no plain table", table));
    return found;
  }

  /// Calls `row` for each row of a query.
  void run(const std::string& query, const std::function<void(sqlite3_stmt*)>& row) const {
    deadline_ = Clock::now() + query_time_;
    sqlite3_stmt* prepared = nullptr;
    if (const int code = sqlite3_prepare_v2(database_.get(), query.c_str(), -1, &prepared, nullptr);
        code != SQLITE_OK) {
      refuse(code);
    }
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared,
                                                                          sqlite3_finalize);
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(prepared)) == SQLITE_ROW) row(prepared);
    if (code != SQLITE_DONE) refuse(code);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void harden() {
    sqlite3* const database = database_.get();
    for (const int off : {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                          SQLITE_DBCONFIG_ENABLE_VIEW}) {
      sqlite3_db_config(database, off, 0, nullptr);
    }
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // Far above what an export has, far below SQLite's own.
    constexpr std::array<std::pair<int, int>, 7> limits = {{{SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                                            {SQLITE_LIMIT_COLUMN, 200},
                                                            {SQLITE_LIMIT_EXPR_DEPTH, 20},
                                                            {SQLITE_LIMIT_COMPOUND_SELECT, 3},
                                                            {SQLITE_LIMIT_ATTACHED, 0},
                                                            {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
                                                            {SQLITE_LIMIT_TRIGGER_DEPTH, 1}}};
    for (const auto& [limit, most] : limits) sqlite3_limit(database, limit, most);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, static_cast<int>(sqlite_value_bytes.most));
    constexpr int steps = 10'000;  // of SQLite's machine, a fraction of a millisecond
    sqlite3_progress_handler(
        database, steps,
        [](void* until) {
          return Clock::now() > *static_cast<const Clock::time_point*>(until) ? 1 : 0;
        },
        &deadline_);
  }

  void check_structure() const {
    run("PRAGMA cell_size_check = ON", [](sqlite3_stmt*) {});
    if (std::filesystem::file_size(file_) > sqlite_checked_bytes.most) return;
    run("PRAGMA quick_check(1)", [&](sqlite3_stmt* row) {
      const unsigned char* text = sqlite3_column_text(row, 0);
      const bool ok = text != nullptr && text[0] == 'o' && text[1] == 'k' && text[2] == 0;
      if (!ok) fail("the database is damaged");
    });
  }

  [[noreturn]] void refuse(int code) const {
    switch (code) {
      case SQLITE_NOMEM:  // where a field that should be small asks for gigabytes, too
        fail("the database is damaged, or there is too little memory for it");
      case SQLITE_INTERRUPT:
        fail("reading takes " + over(sqlite_seconds));
      case SQLITE_TOOBIG:
        fail(over(sqlite_value_bytes));
      case SQLITE_NOTADB:
        fail("is no database of SQLite's");
      case SQLITE_CORRUPT:
        fail("the database is damaged");
      default:
        fail(fmt::format("the database is damaged or another (SQLite's code {})", code));
    }
  }

  std::string file_;
  std::chrono::milliseconds query_time_;
  mutable Clock::time_point deadline_;  ///< of the query that runs
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_{nullptr, sqlite3_close};
};

std::string_view text_at(sqlite3_stmt* row, int column) {
  const unsigned char* text = sqlite3_column_text(row, column);
  if (text == nullptr) return "";
  // SQLite's own type for text is unsigned.
  return {reinterpret_cast<const char*>(text),  // NOLINT
          static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

std::uint32_t number_at(sqlite3_stmt* row, int column) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(sqlite3_column_int64(row, column), 0, UINT32_MAX));
}

class NsysReader {
 public:
  NsysReader(const std::string& file, std::chrono::milliseconds query_time)
      : database_(file, query_time) {
    trace_.file = file;
    trace_.tool = "Nsight Systems";
  }

  Trace run() {
    if (!database_.has_table("StringIds")) database_.fail("no table 'StringIds'");
    database_.run("SELECT id, value FROM StringIds", [&](sqlite3_stmt* row) {
      count_row();
      strings_[sqlite3_column_int64(row, 0)] = trace_.names.id(text_at(row, 1));
    });
    read_kernels();
    read_memory("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", DeviceKind::copy);
    read_memory("CUPTI_ACTIVITY_KIND_MEMSET", "0", DeviceKind::memset);
    read_calls();
    read_nvtx();
    check_times(trace_);
    tell_missing();
    return std::move(trace_);
  }

 private:
  /// Whether the table is there; then it must have these columns.
  bool require_columns(const std::string& table, const std::vector<std::string>& columns) {
    if (!database_.has_table(table)) return false;
    for (const std::string& column : columns) {
      if (!database_.has_column(table, column)) {
        database_.fail(fmt::format("table '{}' has no column '{}'", table, column));
      }
    }
    return true;
  }

  NameId name_of(std::int64_t string) {
    const auto known = strings_.find(string);
    return known == strings_.end() ? trace_.names.id("") : known->second;
  }

  struct Interval {
    Nanoseconds start = 0;
    Nanoseconds end = 0;
  };
  void count_row() {
    if (++rows_ > trace_rows.most) database_.fail(over(trace_rows));
  }

  /// Columns 0 and 1, and the row's number in the last.
  [[nodiscard]] Interval interval(sqlite3_stmt* row, const std::string& table) {
    count_row();
    const Interval read{sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    if (read.start < 0 || read.end < read.start || read.end > instant_max) {
      const auto id = sqlite3_column_int64(row, sqlite3_column_count(row) - 1);
      database_.fail(
          fmt::format("table '{}', row {}: from {} to {} ns", table, id, read.start, read.end));
    }
    return read;
  }

  void read_kernels() {
    const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
    if (!require_columns(table, {"start", "end", "deviceId", "streamId", "correlationId"})) return;
    // Since 2020 the demangled name is a string id of its own.
    const char* name = database_.has_column(table, "demangledName") ? "demangledName" : "shortName";
    const char* blocks = database_.has_column(table, "gridX") ? "gridX * gridY * gridZ" : "0";
    database_.run(
        fmt::format("SELECT start, end, deviceId, streamId, correlationId, {}, {}, rowid FROM {}",
                    name, blocks, table),
        [&](sqlite3_stmt* row) {
          const Interval time = interval(row, table);
          DeviceRecord record;
          record.start = time.start;
          record.end = time.end;
          record.device = number_at(row, 2);
          record.stream = number_at(row, 3);
          record.correlation = number_at(row, 4);
          record.name = name_of(sqlite3_column_int64(row, 5));
          record.blocks = number_at(row, 6);
          trace_.device.push_back(record);
        });
  }

  void read_memory(const std::string& table, const char* copy, DeviceKind kind) {
    if (!require_columns(table,
                         {"start", "end", "deviceId", "streamId", "correlationId", "bytes"})) {
      return;
    }
    const NameId name = trace_.names.id(kind == DeviceKind::copy ? "Memcpy" : "Memset");
    database_.run(
        fmt::format(
            "SELECT start, end, deviceId, streamId, correlationId, bytes, {}, rowid FROM {}", copy,
            table),
        [&](sqlite3_stmt* row) {
          const Interval time = interval(row, table);
          DeviceRecord record;
          record.start = time.start;
          record.end = time.end;
          record.device = number_at(row, 2);
          record.stream = number_at(row, 3);
          record.correlation = number_at(row, 4);
          record.bytes = std::max<std::int64_t>(0, sqlite3_column_int64(row, 5));
          record.name = name;
          record.kind = kind;
          // Numbered as CUPTI does.
          for (const CopyKind known : {CopyKind::host_to_device, CopyKind::device_to_host,
                                       CopyKind::device_to_device, CopyKind::peer_to_peer}) {
            if (number_at(row, 6) == static_cast<std::uint32_t>(known)) record.copy = known;
          }
          trace_.device.push_back(record);
        });
  }

  void read_calls() {
    const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!require_columns(table, {"start", "end", "globalTid", "correlationId", "nameId"})) return;
    database_.run(
        "SELECT start, end, globalTid, correlationId, nameId, rowid FROM " + table,
        [&](sqlite3_stmt* row) {
          const Interval time = interval(row, table);
          trace_.calls.push_back({time.start, time.end, name_of(sqlite3_column_int64(row, 4)),
                                  number_at(row, 3), thread(row, 2)});
        });
  }

  void read_nvtx() {
    const std::string table = "NVTX_EVENTS";
    if (!require_columns(table, {"start", "end", "eventType", "text", "globalTid"})) return;
    const char* id = database_.has_column(table, "textId") ? "textId" : "NULL";
    database_.run(
        fmt::format("SELECT start, end, eventType, globalTid, text, {}, rowid FROM {}", id, table),
        [&](sqlite3_stmt* row) {
          const int type = sqlite3_column_int(row, 2);
          // Registered strings stand in StringIds.
          const bool registered = sqlite3_column_type(row, 5) != SQLITE_NULL;
          const std::string text = registered ? trace_.names[name_of(sqlite3_column_int64(row, 5))]
                                              : std::string(text_at(row, 4));
          const bool range = type == event_push_pop_range || type == event_start_end_range;
          if (range && sqlite3_column_type(row, 1) != SQLITE_NULL) {
            keep_range(interval(row, table), text, thread(row, 3));
          } else if (type == event_mark) {
            count_row();
            trace_.marks.push_back({sqlite3_column_int64(row, 0), trace_.names.id(text),
                                    trace_.names.id("nvtx"), thread(row, 3)});
          }
        });
  }

  void keep_range(const Interval& time, const std::string& text, std::uint32_t thread) {
    const OperatorName name = split_operator_name(text);
    RangeRecord range;
    range.start = time.start;
    range.end = time.end;
    range.name = trace_.names.id(name.name);
    range.domain = trace_.names.id("nvtx");
    range.thread = thread;
    range.sequence = name.sequence;
    // emit_nvtx(record_shapes=True) writes them behind the name.
    constexpr std::string_view sizes = ", sizes = ";
    if (const std::size_t at = text.find(sizes); at != std::string::npos) {
      const std::size_t begin = at + sizes.size();
      const std::size_t end = text.find(", input_op_ids", begin);
      range.shapes = trace_.names.id(std::string_view(text).substr(
          begin, end == std::string::npos ? std::string::npos : end - begin));
    }
    trace_.ranges.push_back(range);
  }

  /// Threads of all processes have one number; each gets a small one.
  std::uint32_t thread(sqlite3_stmt* row, int column) {
    return threads_
        .try_emplace(sqlite3_column_int64(row, column), static_cast<std::uint32_t>(threads_.size()))
        .first->second;
  }

  void tell_missing() {
    const auto lacks = [&](bool there, const char* what) {
      if (!there) trace_.missing.emplace_back(what);
    };
    lacks(!trace_.device.empty(), "kernels (nsys profile --trace=cuda)");
    lacks(!trace_.calls.empty(), "calls of CUDA's runtime (nsys profile --trace=cuda)");
    lacks(!trace_.ranges.empty(), "NVTX ranges (nsys profile --trace=nvtx, torch's emit_nvtx)");
    lacks(
        std::ranges::any_of(trace_.ranges,
                            [](const RangeRecord& range) { return range.sequence != no_sequence; }),
        "sequence numbers of autograd nodes (torch.autograd.profiler.emit_nvtx)");
  }

  Database database_;
  Trace trace_;
  std::size_t rows_ = 0;
  std::map<std::int64_t, NameId> strings_;
  std::map<std::int64_t, std::uint32_t> threads_;
};

}  // namespace

Trace read_nsys(const std::string& file, std::chrono::milliseconds query_time) {
  return NsysReader(file, query_time).run();
}

}  // namespace gradwire::calibration
