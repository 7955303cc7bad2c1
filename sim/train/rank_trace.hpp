#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/core/units.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// The spans of one rank, while it is recorded.
class RankTrace {
 public:
  /// @param tensors  of the job, for their names.
  explicit RankTrace(std::vector<TensorInfo> tensors) : tensors_(std::move(tensors)) {}

  /// Records `member` of a class of workers, whose rank is `rank`, from now on.
  void start(std::size_t member, int rank);
  void stop() { member_.reset(); }
  [[nodiscard]] bool is_on() const { return member_.has_value(); }
  [[nodiscard]] std::optional<std::size_t> member() const { return member_; }
  [[nodiscard]] bool records(std::size_t member) const { return member_ == member; }

  /// Adds a bar, or lengthens a recent one of the same name that ends where this starts.
  /// REQUIRES: is_on(). Times are seconds since the start of the run.
  Span& add(const char* resource, const std::string& name, double start, double end,
            std::string cause);
  /// The same with what it carries.
  void add(const char* resource, const std::string& name, double start, double end, Bytes size,
           const std::vector<TensorId>& tensors);

  [[nodiscard]] std::vector<Span>& spans() { return spans_; }

 private:
  std::vector<TensorInfo> tensors_;
  std::optional<std::size_t> member_;
  std::string worker_;
  std::vector<Span> spans_;
};

}  // namespace gradwire
