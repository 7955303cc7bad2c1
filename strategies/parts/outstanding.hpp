#pragma once

#include <string>

#include "strategies/parts/poster.hpp"

namespace gradwire {

/// Exchanges of an iteration that are under way, and the flag that is raised when none is left.
class Outstanding {
 public:
  void add(std::size_t more = 1) { left_ += more; }
  [[nodiscard]] std::size_t left() const { return left_; }
  /// So many have ended: raises the flag with the last of them.
  void end(Poster& poster, std::size_t ended = 1);

  /// So many will end in all.
  void expect(Poster& poster, std::size_t all, const std::string& label);
  /// The flag of expect().
  [[nodiscard]] OperationId flag() const { return flag_; }
  /// No more will be added: what is launched next waits for those that are there.
  void gate(Poster& poster, const std::string& label);

 private:
  std::size_t left_ = 0;
  OperationId flag_ = -1;
  bool closed_ = false;  ///< the flag is there, not raised yet
};

}  // namespace gradwire
