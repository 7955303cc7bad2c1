#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire {

/// What users of language models count, as columns of a table: tokens a second on a GPU, share of
/// its peak (MFU), and the memory that a GPU needs; there where some row is of text.
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
