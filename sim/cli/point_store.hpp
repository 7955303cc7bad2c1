#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

namespace gradwire::cli {

/// Results of finished points, each under the key of what made it (point_key.hpp), in a file of
/// SQLite's that one program at a time may have open. What put() has returned from is on the disk:
/// neither the program's nor the machine's end takes it away.
class PointStore {
 public:
  /// Opens a store, or makes one, which goes again when nothing was put into it. @param file  "":
  /// one of this object's own, that nobody else sees and that is gone with it.
  /// @throws ConfigError at a file that is no store, or damaged; std::runtime_error where another
  ///         program has it open, or it cannot be read and written.
  explicit PointStore(std::string file);
  ~PointStore();
  PointStore(const PointStore&) = delete;
  PointStore& operator=(const PointStore&) = delete;

  /// Results in it, of whatever made them.
  [[nodiscard]] std::size_t size() const;
  /// The keys of those that this program made.
  [[nodiscard]] std::unordered_set<std::string> keys(const std::string& program) const;
  /// Keeps a result; of one key the last. @param label  for who looks into the file.
  /// @throws std::runtime_error where that cannot be written, e.g. to a full disk.
  void put(const std::string& key, const std::string& program, const std::string& label,
           const std::string& result);
  /// REQUIRES: there is one. @throws ConfigError when it is not what was put.
  [[nodiscard]] std::string get(const std::string& key) const;

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace gradwire::cli
