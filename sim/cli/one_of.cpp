#include "sim/cli/one_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/plain_text.hpp"

namespace gradwire::cli {

CLI::Validator one_of(const std::vector<std::string>& names) {
  return {[names](const std::string& name) -> std::string {
            if (std::ranges::find(names, name) != names.end()) return "";
            return fmt::format("'{}' is unknown; expected one of {}{}", name,
                               joined_by(names, ", "), suggestion(name, names));
          },
          fmt::format("{{{}}}", joined_by(names, ","))};
}

CLI::Validator file_name() {
  return {[](const std::string& name) -> std::string {
            if (is_file_name(name)) return "";
            return fmt::format(
                "'{}' is no name of a file; expected letters, digits, '.', '_' and '-', and no '/'",
                plain_line(shortened(name)));
          },
          "NAME"};
}

}  // namespace gradwire::cli
