#pragma once

#include <string>

#include "sim/core/error.hpp"

namespace gradwire::test {

/// What the ConfigError says that `call` throws, without the folder of the file that it names;
/// "accepted" where it throws none.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    return text.substr(text.rfind('/', text.find(':')) + 1);  // from the first on where none is
  }
  return "accepted";
}

}  // namespace gradwire::test
