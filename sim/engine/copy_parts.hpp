#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/transport.hpp"

namespace gradwire {

/// Copies' turns (Transport) where rates are max-min fair by flow: a copy begins in as many equal
/// parts as other flows have been at once on its busiest shared row, since those that it will meet
/// may come later. (With as many as are there when it begins BytePS on 128 machines over InfiniBand
/// took 20 % longer than with exact turns; so 0.3 %, and on 512 machines 2.2 % in place of 29.) For
/// large problems: taking turns exactly, each short copy would change the rates of hundreds of
/// messages twice (p3 on 128 machines with a server each: 62 s of CPU in place of 5).
class CopyParts {
 public:
  explicit CopyParts(const FlowProblem& problem);

  /// A flow through a column begins. @return in how many parts, at least 1.
  std::uint32_t begin(std::uint32_t column);
  /// A flow through it has ended.
  void end(std::uint32_t column);

 private:
  struct Column {
    bool is_copy = false;
    std::vector<RowUse> shared;  ///< rows that copies and others use
  };
  std::vector<Column> columns_;        ///< none: no row is shared
  std::vector<std::uint32_t> parts_;   ///< row -> how many of them are its link
  std::vector<std::uint32_t> others_;  ///< row -> in flight through it
  std::vector<std::uint32_t> most_;    ///< row -> the most of them so far on its link
};

}  // namespace gradwire
