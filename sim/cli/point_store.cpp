#include "sim/cli/point_store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/config/scenario_document.hpp"
#include "sim/core/error.hpp"

namespace gradwire::cli {
namespace {

/// What SQLite keeps in the header of a file of ours ("GWsw"), and the version of the table.
constexpr int store_application = 0x47577377;
constexpr int store_version = 1;

/// How long the lock of a program that is just ending is waited for.
constexpr int lock_wait_ms = 500;

constexpr const char* store_expected = "a store that 'gradwire sweep --store' made, or a new name";

}  // namespace

/// SQLite's handle, with its refusals in our words.
class PointStore::Database {
 public:
  using Row = std::function<void(sqlite3_stmt*)>;

  explicit Database(std::string file) : file_(std::move(file)) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!is_private() && fs::exists(file_, ignored) && !fs::is_regular_file(file_, ignored)) {
      refuse("is no regular file");
    }
    // SQLite gives some relative names a meaning of its own.
    const std::string name = is_private() ? file_ : fs::absolute(file_).string();
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(name.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    handle_.reset(opened);
    check(code);
    if (is_private()) {
      run("PRAGMA journal_mode = OFF");
      run("PRAGMA synchronous = OFF");
      make_table();
    } else {
      prepare_file();
    }
  }

  ~Database() {
    if (!made_here_) return;
    handle_.reset();
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// A store that was made here and holds nothing goes again.
  void holds_something() { made_here_ = false; }

  void run(const char* query, std::initializer_list<std::string> values = {},
           const Row& row = {}) const {
    sqlite3_stmt* prepared = nullptr;
    check(sqlite3_prepare_v2(handle_.get(), query, -1, &prepared, nullptr));
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared,
                                                                          sqlite3_finalize);
    int place = 0;
    for (const std::string& value : values) {
      check(sqlite3_bind_text64(prepared, ++place, value.data(), value.size(), SQLITE_STATIC,
                                SQLITE_UTF8));
    }
    errno = 0;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
      if (row) row(prepared);
    }
    if (code != SQLITE_DONE) check(code);
  }

  [[nodiscard]] std::int64_t number(const char* query) const {
    std::int64_t result = 0;
    run(query, {}, [&](sqlite3_stmt* row) { result = sqlite3_column_int64(row, 0); });
    return result;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw ConfigError({file_, 1, 1}, fmt::format("{}; expected {}", why, store_expected));
  }

 private:
  [[nodiscard]] bool is_private() const { return file_.empty(); }

  void prepare_file() {
    check(sqlite3_busy_timeout(handle_.get(), lock_wait_ms));
    // From the first transaction on until we end: two sweeps would compute the same points.
    run("PRAGMA locking_mode = EXCLUSIVE");
    run("BEGIN EXCLUSIVE");
    const bool is_new = number("SELECT count(*) FROM sqlite_master") == 0;
    const auto application = number("PRAGMA application_id");
    if (application != (is_new ? 0 : store_application)) refuse("is another program's database");
    const auto version = number("PRAGMA user_version");
    if (version > store_version) refuse(fmt::format("is a store of a later version ({})", version));
    run("COMMIT");
    bool whole = false;
    run("PRAGMA quick_check(1)", {}, [&](sqlite3_stmt* row) { whole = text_at(row, 0) == "ok"; });
    if (!whole) refuse("is damaged");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    if (is_new) make_table();
    made_here_ = is_new;
  }

  void make_table() const {
    run("BEGIN");
    run(fmt::format("PRAGMA application_id = {}", store_application).c_str());
    run(fmt::format("PRAGMA user_version = {}", store_version).c_str());
    run("CREATE TABLE points (key TEXT PRIMARY KEY, program TEXT NOT NULL, label TEXT NOT NULL, "
        "result TEXT NOT NULL, sha256 TEXT NOT NULL)");
    run("COMMIT");
  }

  void check(int code) const {
    switch (code & 0xff) {
      case SQLITE_OK:
        return;
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw std::runtime_error(
            fmt::format("'{}' is in use; expected a store that no other program has open", file_));
      case SQLITE_NOTADB:
        refuse("is no store");
      case SQLITE_CORRUPT:
      case SQLITE_SCHEMA:
      case SQLITE_ERROR:  // a table that is not as ours
        refuse("is damaged");
      default:
        throw std::runtime_error(
            fmt::format("cannot {} '{}': {}", code == SQLITE_CANTOPEN ? "open" : "write",
                        is_private() ? "a temporary file" : file_, reason(code)));
    }
  }

  [[nodiscard]] std::string reason(int code) const {
    const int last = errno;  // of a write beyond a limit SQLite does not tell it
    if ((code & 0xff) == SQLITE_FULL) return std::generic_category().message(ENOSPC);
    int system = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
    if (system == 0 && (code & 0xff) == SQLITE_IOERR) system = last;
    return system != 0 ? std::generic_category().message(system) : sqlite3_errstr(code);
  }

 public:
  static std::string text_at(sqlite3_stmt* row, int column) {
    const unsigned char* text = sqlite3_column_text(row, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
    // SQLite's own type for text is unsigned.
    return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), size);
  }

 private:
  std::string file_;
  bool made_here_ = false;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, sqlite3_close};
};

PointStore::PointStore(std::string file) : database_(std::make_unique<Database>(std::move(file))) {}

PointStore::~PointStore() = default;

std::size_t PointStore::size() const {
  return static_cast<std::size_t>(database_->number("SELECT count(*) FROM points"));
}

std::unordered_set<std::string> PointStore::keys(const std::string& program) const {
  std::unordered_set<std::string> result;
  database_->run("SELECT key FROM points WHERE program = ?", {program},
                 [&](sqlite3_stmt* row) { result.insert(Database::text_at(row, 0)); });
  return result;
}

void PointStore::put(const std::string& key, const std::string& program, const std::string& label,
                     const std::string& result) {
  database_->run("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)",
                 {key, program, label, result, config::sha256(result)});
  database_->holds_something();
}

std::string PointStore::get(const std::string& key) const {
  std::string result;
  std::string sha256;
  database_->run("SELECT result, sha256 FROM points WHERE key = ?", {key}, [&](sqlite3_stmt* row) {
    result = Database::text_at(row, 0);
    sha256 = Database::text_at(row, 1);
  });
  if (sha256.empty() || sha256 != config::sha256(result)) {
    database_->refuse(fmt::format("is damaged: the point {} is not what was stored", key));
  }
  return result;
}

}  // namespace gradwire::cli
