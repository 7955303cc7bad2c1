#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "calibration/import/run_list.hpp"
#include "calibration/trace/nccl_names.hpp"

namespace gradwire {
namespace {

using Document = nlohmann::json;

/// The place of a byte of the text, from 1.
SourceLocation place_of(const std::string& text, const std::string& file, std::size_t byte) {
  const std::size_t end = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t column = before == std::string::npos ? end + 1 : end - before;
  return {file, static_cast<int>(line) + 1, static_cast<int>(column)};
}

/// Member of an object, a null when it is not there.
const Document& member(const Document& object, const char* key) {
  static const Document none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

/// A whole number that counts something, 0 where it is none or beyond an int.
std::int64_t count_of(const Document& value) {
  const bool whole = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()};
  return whole ? value.get<std::int64_t>() : 0;
}
int count_in(std::int64_t number) {
  return std::in_range<int>(number) ? static_cast<int>(number) : 0;
}

RunList::Table table_of(const Document& document, const SourceLocation& where) {
  RunList::Table table;
  table.where = where;
  const Document& args = member(document, "args");
  if (args.is_array() && !args.empty() && args.front().is_string()) {
    table.op = nccl_tests_operation(args.front().get_ref<const std::string&>());
  }
  const Document& config = member(document, "config");
  const Document& devices =
      member(member(config, "devices").is_array() ? config : document, "devices");
  std::set<std::string> hosts;
  if (devices.is_array()) {
    table.ranks = count_in(static_cast<std::int64_t>(devices.size()));
    for (const Document& device : devices) {
      const Document& host = member(device, "hostname");
      if (host.is_string()) hosts.insert(host.get<std::string>());
    }
  }
  table.nodes = static_cast<int>(hosts.size());
  const Document& threads = member(config, "nthreads");
  const Document& gpus = member(config, "ngpus");
  if (table.ranks <= 1 && count_of(threads) > 0 && count_of(gpus) > 0) {
    // Without MPI only the first is listed.
    table.ranks = count_in(count_of(threads) * count_of(gpus));
  }
  const Document& version = member(document, "nccl_version");
  if (version.is_number_integer()) table.version = nccl_version_text(version.get<long long>());
  return table;
}

MeasuredRow row_of(const Document& result, std::size_t index, bool in_place,
                   const SourceLocation& where, RunList& runs) {
  const char* place = in_place ? "in_place" : "out_of_place";
  const auto fail = [&](const std::string& what) {
    throw ConfigError(where, fmt::format("results[{}]: {}", index, what));
  };
  const Document& size = member(result, "size");
  if (!size.is_number_unsigned() || !std::in_range<std::int64_t>(size.get<std::uint64_t>())) {
    fail("no 'size'; expected a number of bytes");
  }
  const Document& time = member(member(result, place), "time");
  if (!time.is_number() || !(time.get<double>() > 0)) {
    fail(fmt::format("no '{}.time'; expected microseconds above 0", place));
  }
  const Document& wrong = member(member(result, place), "nwrong");
  if (wrong.is_number() && wrong.get<double>() > 0) runs.add_wrong();
  MeasuredRow row;
  row.size = Bytes{size.get<std::int64_t>()};
  row.time = Seconds{time.get<double>() * 1e-6};
  const Document& tuning = member(result, "tuning");
  const auto name = [&](const char* key, auto known) {
    const Document& text = member(tuning, key);
    return text.is_string() ? known(text.get_ref<const std::string&>()) : std::string();
  };
  row.algorithm = name("algo", nccl_algorithm);
  row.protocol = name("proto", nccl_protocol);
  const Document& channels = member(tuning, "#channels");
  row.channels = count_in(count_of(channels));
  return row;
}

}  // namespace

void read_nccl_tests_json(const std::string& text, const std::string& file, bool in_place,
                          RunList& runs) {
  Document document;
  try {
    document = Document::parse(text);
  } catch (const Document::exception& error) {
    // Beside what is no JSON there are numbers that no double holds; those have no place.
    const auto* const parse = dynamic_cast<const Document::parse_error*>(&error);
    throw ConfigError(place_of(text, file, parse == nullptr ? 1 : parse->byte),
                      "the JSON breaks off or is none; expected what nccl-tests writes with -J");
  }
  const std::size_t at = text.find("\"results\"");
  const SourceLocation where = place_of(text, file, at == std::string::npos ? 1 : at + 1);
  const Document& results = member(document, "results");
  if (!results.is_array()) {
    throw ConfigError(where, "no list 'results'; expected what nccl-tests writes with -J");
  }
  runs.begin(table_of(document, where));
  for (std::size_t i = 0; i < results.size(); ++i) {
    runs.add(row_of(results[i], i, in_place, where, runs));
  }
}

}  // namespace gradwire
