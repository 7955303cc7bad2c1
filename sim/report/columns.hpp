#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace gradwire {

/// The parts of an iteration as columns of a table, in ms: "compute" is forward, backward and
/// optimizer together; each other part has its own where some row has any of it. A row's columns
/// add up to its iteration.
class PartColumns {
 public:
  /// A row of the table. @param result  gradwire.result/1.
  void add(const nlohmann::ordered_json& result);

  [[nodiscard]] std::string head() const;
  /// REQUIRES: the row was added.
  [[nodiscard]] std::string line(const nlohmann::ordered_json& result) const;

 private:
  struct Column {
    std::string name;
    std::vector<std::string> parts;  ///< names of `breakdown_s`
    double most = 0;                 ///< of any row, s
  };
  static std::vector<Column> all();
  [[nodiscard]] static double seconds(const Column& column, const nlohmann::ordered_json& result);
  template <class Use>
  void for_shown(Use use) const;

  std::vector<Column> columns_ = all();
};

/// What users of large models count, as columns of a table: tokens a second on a GPU, share of
/// its peak (MFU), and the memory that a GPU needs; there where some row has them (shows_work()).
class WorkColumns {
 public:
  /// A row of the table. @param result  gradwire.result/1.
  void add(const nlohmann::ordered_json& result);

  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string line(const nlohmann::ordered_json& result) const;

 private:
  bool shown_ = false;
};

}  // namespace gradwire
