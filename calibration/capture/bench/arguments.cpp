#include "calibration/capture/bench/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

namespace gradwire::calibration {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& value,
                       const std::string& expected) {
  throw UsageError(name + " is '" + value + "'; expected " + expected);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// A count with or without a unit; 0 where it is none.
std::int64_t parse_size(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || number <= 0) return 0;
  const std::string unit(result.ptr, end);
  int shift = 0;
  if (unit == "KiB") {
    shift = 10;
  } else if (unit == "MiB") {
    shift = 20;
  } else if (unit == "GiB") {
    shift = 30;
  } else if (!unit.empty()) {
    return 0;
  }
  if (number > std::numeric_limits<std::int64_t>::max() >> shift) return 0;
  return number << shift;
}

constexpr const char* size_words = "sizes like 64KiB:64MiB:x2 or 1KiB,4MiB, rising";

}  // namespace

Arguments::Arguments(const std::vector<OptionInfo>& known, const std::vector<std::string>& words) {
  CLI::App app;
  std::string names;
  for (const OptionInfo& option : known) {
    std::string& value = values_[option.name] = option.fallback;
    app.add_option(option.name, value, option.help)->capture_default_str();
    names += (names.empty() ? "" : ", ") + option.name;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    throw HelpWanted(app.help());
  } catch (const CLI::ExtrasError&) {
    throw UsageError("unknown option '" + app.remaining().front() + "'; expected one of " + names);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

const std::string& Arguments::text(const std::string& name) const {
  return values_.at(name);
}

std::int64_t Arguments::whole(const std::string& name, std::int64_t least) const {
  const std::string& value = text(name);
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < least) {
    fail(name, value, "a whole number of at least " + std::to_string(least));
  }
  return number;
}

std::vector<std::string> Arguments::list(const std::string& name) const {
  return split(text(name), ',');
}

std::vector<std::string> Arguments::choices(const std::string& name,
                                            const std::vector<std::string>& known) const {
  std::vector<std::string> chosen = list(name);
  if (chosen == std::vector<std::string>{"all"}) return known;
  for (const std::string& choice : chosen) {
    if (std::find(known.begin(), known.end(), choice) != known.end()) continue;
    std::string names;
    for (const std::string& one : known) names += ", " + one;
    fail(name, choice, "all" + names);
  }
  return chosen;
}

std::vector<std::int64_t> Arguments::sizes(const std::string& name) const {
  const std::string& value = text(name);
  std::vector<std::int64_t> sizes;
  const std::vector<std::string> range = split(value, ':');
  if (range.size() == 3) {
    const std::int64_t first = parse_size(range[0]);
    const std::int64_t last = parse_size(range[1]);
    const std::int64_t factor = range[2].substr(0, 1) == "x" ? parse_size(range[2].substr(1)) : 0;
    if (first == 0 || last < first || factor < 2) fail(name, value, size_words);
    for (std::int64_t size = first; size <= last; size *= factor) {
      sizes.push_back(size);
      if (size > last / factor) break;
    }
    return sizes;
  }
  for (const std::string& word : split(value, ',')) {
    const std::int64_t size = parse_size(word);
    if (size == 0 || (!sizes.empty() && size <= sizes.back())) fail(name, value, size_words);
    sizes.push_back(size);
  }
  if (sizes.empty()) fail(name, value, size_words);
  return sizes;
}

}  // namespace gradwire::calibration
