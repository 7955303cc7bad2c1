#include "tests/fuzz/nsys_rows.hpp"

#include <sqlite3.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace gradwire::fuzz {
namespace {

/// A table of the export (calibration/import/nsys.hpp names the source).
struct Table {
  char letter;
  const char* made;
  const char* insert;
  int columns;
};
constexpr std::array<Table, 6> tables{{
    {'s', "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
     "INSERT OR IGNORE INTO StringIds VALUES (?, ?)", 2},
    {'k',
     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
     "demangledName, gridX, gridY, gridZ)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", 9},
    {'c',
     "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
     "bytes, copyKind)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?)", 7},
    {'m',
     "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, "
     "bytes)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, ?, ?, ?, ?)", 6},
    {'r', "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", 5},
    {'n', "CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, text, textId)",
     "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", 6},
}};

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

void run(sqlite3* database, const char* statement) {
  if (sqlite3_exec(database, statement, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(std::string("SQLite refuses ") + statement);
  }
}

/// What stands before `end`, which goes too.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

void bind(sqlite3_stmt* statement, int column, std::string_view cell) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (cell.empty()) {
    sqlite3_bind_null(statement, column);
  } else if (error == std::errc() && end == cell.data() + cell.size()) {
    sqlite3_bind_int64(statement, column, number);
  } else {
    sqlite3_bind_text(statement, column, cell.data(), static_cast<int>(cell.size()),
                      SQLITE_TRANSIENT);
  }
}

void insert(const std::array<Statement, tables.size()>& statements, std::string_view line) {
  const std::string_view letter = take(line, '\t');
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (letter.size() != 1 || letter[0] != tables[i].letter) continue;
    sqlite3_stmt* statement = statements[i].get();
    for (int column = 1; column <= tables[i].columns; ++column) {
      bind(statement, column, take(line, '\t'));
    }
    sqlite3_step(statement);
    sqlite3_reset(statement);
  }
}

}  // namespace

std::string nsys_database(std::string_view rows) {
  sqlite3* opened = nullptr;
  sqlite3_open(":memory:", &opened);
  const Database database(opened, sqlite3_close);
  std::array<Statement, tables.size()> statements{
      Statement(nullptr, sqlite3_finalize), Statement(nullptr, sqlite3_finalize),
      Statement(nullptr, sqlite3_finalize), Statement(nullptr, sqlite3_finalize),
      Statement(nullptr, sqlite3_finalize), Statement(nullptr, sqlite3_finalize)};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    run(opened, tables[i].made);
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(opened, tables[i].insert, -1, &prepared, nullptr) != SQLITE_OK) {
      throw std::runtime_error(std::string("SQLite refuses ") + tables[i].insert);
    }
    statements[i].reset(prepared);
  }
  run(opened, "BEGIN");
  while (!rows.empty()) insert(statements, take(rows, '\n'));
  run(opened, "COMMIT");
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      sqlite3_serialize(opened, "main", &size, 0), sqlite3_free);
  if (bytes == nullptr) throw std::runtime_error("SQLite makes no file of a database");
  return {bytes.get(), bytes.get() + size};
}

}  // namespace gradwire::fuzz
