#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <variant>
#include <vector>

#include "strategies/operations.hpp"

namespace gradwire::test {

/// An operation in a few words: device work and collectives by their label (device work beside
/// compute with a "~"), gates with what they wait for.
inline std::string describe(const Operation& operation) {
  struct Words {
    std::string operator()(const DeviceWork& work) const {
      return (work.stream == DeviceStream::side ? "~" : "") + work.label;
    }
    std::string operator()(const Collective& collective) const { return collective.label; }
    std::string operator()(const Messages& messages) const { return messages.label; }
    std::string operator()(const HostWork& work) const { return work.label; }
    std::string operator()(const Gate& gate) const {
      return fmt::format("gate {}", fmt::join(gate.until, " "));
    }
    std::string operator()(const Flag& flag) const { return "flag: " + flag.label; }
    std::string operator()(const Raise& raise) const { return fmt::format("raise {}", raise.flag); }
    std::string operator()(const OptimizerStep& step) const {
      return fmt::format("optimizer {:.4g}", step.share);
    }
  };
  return std::visit(Words{}, operation);
}

inline std::vector<std::string> describe(const Operations& operations) {
  std::vector<std::string> words;
  for (const auto& operation : operations) words.push_back(describe(operation));
  return words;
}

using Words = std::vector<std::string>;

}  // namespace gradwire::test
