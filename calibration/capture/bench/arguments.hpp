#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradwire::calibration {

/// The command line is not one we understand (exit 2).
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not an error: the options were asked for, and are the text.
class HelpWanted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option of a command: `--name VALUE`.
struct OptionInfo {
  std::string name;      ///< "--sizes"
  std::string fallback;  ///< "" when there is none
  std::string help;
};

/// The options of one command, each with its value or fallback.
class Arguments {
 public:
  /// @throws UsageError for an option that is not among `known`, twice given or without a value;
  ///         HelpWanted for --help.
  Arguments(const std::vector<OptionInfo>& known, const std::vector<std::string>& words);

  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// A whole number from `least` on.
  [[nodiscard]] std::int64_t whole(const std::string& name, std::int64_t least) const;
  /// Words between commas.
  [[nodiscard]] std::vector<std::string> list(const std::string& name) const;
  /// The same, of the known ones; "all" stands for all of them.
  [[nodiscard]] std::vector<std::string> choices(const std::string& name,
                                                 const std::vector<std::string>& known) const;
  /// Rising counts: "1KiB:1GiB:x2" multiplies, "65536,1MiB" lists. KiB, MiB, GiB are powers of
  /// 1024, without a unit the number itself.
  [[nodiscard]] std::vector<std::int64_t> sizes(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace gradwire::calibration
