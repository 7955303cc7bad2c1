#include "sim/cli/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/config/yaml/yaml_units.hpp"
#include "sim/config/yaml/yaml_value.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::cli {
namespace {

constexpr std::size_t sizes_max = 1000;
constexpr const char* sizes_expected =
    "expected FROM:TO:xFACTOR, FROM:TO:+STEP or a list such as 64KiB,1MiB";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

[[noreturn]] void refuse_sizes(const std::string& what) {
  throw ConfigError({"--sizes", 1, 1}, fmt::format("{}; {}", what, sizes_expected));
}

Bytes parse_size(const std::string& text) {
  const auto size = config::read_value<Bytes>(config::parse_yaml(text, "--sizes"), "size");
  if (size.count() == 0) refuse_sizes("a size of 0 takes no time");
  return size;
}

std::vector<Bytes> size_range(const std::vector<std::string>& parts) {
  const Bytes last = parse_size(parts[1]);
  const std::string& step = parts[2];
  const bool factor = step.starts_with("x");
  if (!factor && !step.starts_with("+")) refuse_sizes(fmt::format("'{}' is no step", step));
  const double times =
      factor ? config::read_value<double>(config::parse_yaml(step.substr(1), "--sizes"), "factor")
             : 1;
  if (factor && times <= 1) refuse_sizes(fmt::format("the factor '{}' is not above 1", step));
  const Bytes plus = factor ? Bytes{0} : parse_size(step.substr(1));
  std::vector<Bytes> sizes;
  for (Bytes size = parse_size(parts[0]); size <= last;) {
    sizes.push_back(size);
    if (sizes.size() > sizes_max) refuse_sizes(fmt::format("these are more than {}", sizes_max));
    const double next = times * static_cast<double>(size.count());
    if (next > static_cast<double>(last.count())) break;  // or it may not fit an integer
    size = Bytes{std::max(static_cast<std::int64_t>(next) + plus.count(), size.count() + 1)};
  }
  if (sizes.empty()) refuse_sizes("the first size is above the last one");
  return sizes;
}

}  // namespace

const config::Scenario& choose_point(const std::vector<config::Scenario>& points,
                                     const std::string& label, const std::string& file) {
  if (label.empty()) {
    const auto smaller = [](const config::Scenario& a, const config::Scenario& b) {
      return a.placement.size() <= b.placement.size();
    };
    const config::Scenario* most = &points.front();
    for (const config::Scenario& point : points) most = smaller(*most, point) ? &point : most;
    return *most;
  }
  std::vector<std::string> labels;
  const config::Scenario* found = nullptr;
  for (const config::Scenario& point : points) {
    labels.push_back(point.label);
    if (point.label != label) continue;
    if (found != nullptr) {
      throw ConfigError({file, 1, 1}, fmt::format("several points have the label '{}'; expected "
                                                  "a label that one point has",
                                                  label));
    }
    found = &point;
  }
  if (found != nullptr) return *found;
  if (points.front().label.empty()) {
    throw ConfigError({file, 1, 1},
                      fmt::format("there are no points; expected no --point '{}'", label));
  }
  throw ConfigError({file, 1, 1},
                    fmt::format("no point has the label '{}'; expected one of {}{}", label,
                                joined_by(labels, ", "), suggestion(label, labels)));
}

std::string data_argument(config::DataKind kind, const std::string& argument) {
  if (std::filesystem::is_regular_file(argument)) return argument;
  return config::find_data(kind, config::parse_yaml(argument, "command line"), "FILE");
}

std::string schema_of(const std::string& file) {
  const config::YamlValue& document = config::loaded_yaml(file);
  const config::YamlValue* schema = document.find("schema");
  return schema == nullptr ? "" : schema->text;
}

void refuse_changes(const std::string& file, const std::vector<std::string>& sets,
                    const std::string& point) {
  if (sets.empty() && point.empty()) return;
  const SourceLocation where{sets.empty() ? "--point " + point : "--set " + sets.front(), 1, 1};
  throw ConfigError(where, fmt::format("'{}' is no scenario; expected the file alone", file));
}

std::vector<Bytes> parse_sizes(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() == 3) return size_range(parts);
  if (parts.size() != 1) refuse_sizes(fmt::format("'{}' is no range of sizes", text));
  std::vector<Bytes> sizes;
  for (const std::string& part : split(text, ',')) sizes.push_back(parse_size(part));
  return sizes;
}

}  // namespace gradwire::cli
