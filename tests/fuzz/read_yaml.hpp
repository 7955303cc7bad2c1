#pragma once

#include <string>

namespace gradwire::fuzz {

/// As `gradwire check FILE`, of any schema. @throws ConfigError
void read_yaml(const std::string& bytes);
/// As `gradwire run FILE --set OPTION` of a scenario that is in order. @throws ConfigError
void read_set_option(const std::string& bytes);
/// As `gradwire diff FILE`. @throws ConfigError
void read_result(const std::string& bytes);

}  // namespace gradwire::fuzz
