#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gradwire {

/// One line of a table of results: what was varied, and the gradwire.result/1 or what went wrong.
struct ResultRow {
  std::vector<std::pair<std::string, std::string>> axes;  ///< key and value as written, in order
  nlohmann::ordered_json result;
  std::string error;  ///< "" when `result` stands
};

/// The rows of a table, in order. Each is made when it is asked for, so that those of a long sweep
/// need not be in memory together.
class ResultRows {
 public:
  /// @param make  gives the row of a place below `size`, as often as asked.
  ResultRows(std::size_t size, std::function<ResultRow(std::size_t)> make)
      : size_(size), make_(std::move(make)) {}
  /// Those of a list, which must outlive it.
  // NOLINTNEXTLINE(google-explicit-constructor): a list is such rows
  ResultRows(std::span<const ResultRow> rows)
      : ResultRows(rows.size(), [rows](std::size_t place) { return rows[place]; }) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a list is such rows
  ResultRows(const std::vector<ResultRow>& rows) : ResultRows(std::span<const ResultRow>(rows)) {}

  class Iterator {
   public:
    Iterator(const ResultRows& rows, std::size_t place) : rows_(&rows), place_(place) {}
    ResultRow operator*() const { return (*rows_)[place_]; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return place_ != other.place_; }

   private:
    const ResultRows* rows_;
    std::size_t place_;
  };

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] ResultRow operator[](std::size_t place) const { return make_(place); }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size_}; }

 private:
  std::size_t size_;
  std::function<ResultRow(std::size_t)> make_;
};

}  // namespace gradwire
