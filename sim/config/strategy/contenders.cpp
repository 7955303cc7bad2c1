#include "sim/config/strategy/contenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/strategy/original_knobs.hpp"
#include "sim/config/strategy/presets.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/core/error.hpp"

namespace gradwire::config {
namespace {

constexpr const char* grammar =
    "expected NAME, NAME(key=value,...) or one of them and +COMPRESSION";

/// A piece of a text and the column where it begins, from 1.
struct Piece {
  std::string text;
  int column = 1;
};

/// A part of a piece without the blanks around it.
Piece trimmed(const Piece& whole, std::size_t first, std::size_t last) {
  while (first < last && whole.text[first] == ' ') ++first;
  while (last > first && whole.text[last - 1] == ' ') --last;
  return {whole.text.substr(first, last - first), whole.column + static_cast<int>(first)};
}

/// Splits at `separator` where it stands outside of parentheses and braces; trims blanks.
std::vector<Piece> split(const Piece& whole, char separator) {
  std::vector<Piece> pieces;
  int depth = 0;
  std::size_t begin = 0;
  const std::string& text = whole.text;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (i < text.size() && (c != separator || depth > 0)) continue;
    pieces.push_back(trimmed(whole, begin, i));
    begin = i + 1;
  }
  return pieces;
}

YamlValue scalar(const Piece& piece, const SourceLocation& where) {
  YamlValue value;
  value.kind = YamlValue::Kind::scalar;
  value.text = piece.text;
  value.where = where;
  return value;
}

YamlValue mapping(const SourceLocation& where) {
  YamlValue value;
  value.kind = YamlValue::Kind::map;
  value.where = where;
  return value;
}

/// Sets a key; what was there goes.
void set(YamlValue& map, const YamlEntry& entry) {
  std::erase_if(map.entries, [&](const YamlEntry& old) { return old.key == entry.key; });
  map.entries.push_back(entry);
}

/// What stands before the knobs.
Piece contender_name(const Piece& piece) {
  return trimmed(piece, 0, std::min(piece.text.find('('), piece.text.size()));
}

/// "name" or "name(key=value,...)" as the mapping {NAME_KEY: name, key: value, ...}.
struct Reader {
  std::string file;

  [[nodiscard]] SourceLocation at(const Piece& piece) const { return {file, 1, piece.column}; }

  [[nodiscard]] YamlValue read(const Piece& piece, const std::string& name_key) const {
    YamlValue map = mapping(at(piece));
    const std::size_t open = piece.text.find('(');
    const Piece name = contender_name(piece);
    map.entries.push_back({name_key, at(name), scalar(name, at(name))});
    if (open == std::string::npos) return map;
    if (piece.text.back() != ')') {
      throw ConfigError(at(piece),
                        fmt::format("'{}' has no closing parenthesis; {}", piece.text, grammar));
    }
    const Piece inside{piece.text.substr(open + 1, piece.text.size() - open - 2),
                       piece.column + static_cast<int>(open) + 1};
    for (const Piece& knob : split(inside, ',')) {
      const std::size_t equals = knob.text.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw ConfigError(at(knob), fmt::format("'{}' sets no knob; {}", knob.text, grammar));
      }
      const Piece key = trimmed(knob, 0, equals);
      if (key.text == "name" || key.text == "preset") {
        throw ConfigError(at(key), fmt::format("'{}' is no knob; expected the name before the "
                                               "parenthesis",
                                               key.text));
      }
      const Piece value = trimmed(knob, equals + 1, knob.text.size());
      set(map, {key.text, at(key), parse_yaml(value.text, file, value.column)});
    }
    return map;
  }
};

Contender contender_of(const Piece& piece, const Reader& reader) {
  const auto parts = split(piece, '+');
  const Piece& first = parts.front();
  Contender contender{
      .name = piece.text, .choice = contender_name(first).text, .is_preset = false, .strategy = {}};
  if (find_strategy(contender.choice) == nullptr) {
    std::vector<std::string> known = names_of(strategy_catalogue());
    for (const Preset& preset : shipped_presets()) known.push_back(preset.name);
    contender.is_preset = find_preset(contender.choice).has_value();
    if (!contender.is_preset) {
      throw ConfigError(reader.at(first),
                        fmt::format("'{}' is no strategy and no preset; expected names that "
                                    "'gradwire list strategies' and 'gradwire list presets' "
                                    "show, or all{}",
                                    contender.choice, suggestion(contender.choice, known)));
    }
  }
  contender.strategy = reader.read(first, contender.is_preset ? "preset" : "name");
  if (parts.size() > 2) {
    throw ConfigError(reader.at(parts[2]),
                      fmt::format("a second compression '{}'; {}", parts[2].text, grammar));
  }
  if (parts.size() == 2) {
    set(contender.strategy, {"compression", reader.at(parts[1]), reader.read(parts[1], "name")});
  }
  return contender;
}

/// Keys of a strategy's mapping that say something about the job rather than about the strategy.
bool stays(const std::string& key, const std::string& strategy) {
  static const std::set<std::string> of_the_job = {"grad_accumulation", "compression",
                                                   "gradient_dtype"};
  // Variables: the one that reads them takes them, the others tell that they have no effect.
  if (of_the_job.contains(key) || is_variable_name(key)) return true;
  const StrategyEntry* entry = find_strategy(strategy);
  return key == "servers" && entry != nullptr && entry->flags.servers;
}

}  // namespace

std::vector<std::string> all_contenders() {
  /// Variants beside the defaults: what papers compare.
  static const std::vector<std::string> variants = {
      "ddp(bucket_cap=1 MiB)",
      "ddp(bucket_cap=100 MiB)",
      "ddp(gradient_as_bucket_view=true)",
      "horovod/0.19",
      "horovod(hierarchical_allreduce=true)",
      "horovod(torus_allreduce=true)",
      "mg_wfbp(merge=optimal)",
      "ddl_benchmarks/BSP-A2A",
      "ddl_benchmarks/WFBP-A2A",
      "ddl_benchmarks/ByteScheduler-A2A",
      "bytescheduler(mode=ps)",
      "ddl_benchmarks/BSP-PS",
      "ddl_benchmarks/WFBP-PS",
      "byteps(cross_barrier=true)",
      "kungfu_sync(graph=RING)",
      "kungfu_sync(graph=STAR)",
      "kungfu_sync(graph=MULTI_BINARY_TREE_STAR)",
      "kungfu_sync(mode=nccl)",
      "fsdp(sharding_strategy=SHARD_GRAD_OP)",
  };
  /// Those that begin with plain all-reduces: a comparison is of what comes after.
  static const std::map<std::string, std::string> steady = {
      {"powersgd", "powersgd(start_powerSGD_iter=0)"},
      {"onebit_adam", "onebit_adam(freeze_step=0)"}};
  const auto steadied = [](const std::string& name) {
    const auto found = steady.find(name);
    return found == steady.end() ? name : found->second;
  };
  std::vector<std::string> all;
  for (const auto& entry : strategy_catalogue()) all.push_back(steadied(entry.name));
  all.insert(all.end(), variants.begin(), variants.end());
  for (const auto& entry : compression_catalogue()) all.push_back("ddp+" + steadied(entry.name));
  return all;
}

std::vector<Contender> parse_contenders(const std::string& text, const std::string& file) {
  const Reader reader{file};
  std::vector<Contender> contenders;
  for (const Piece& piece : split({text, 1}, ',')) {
    if (piece.text.empty()) {
      throw ConfigError(reader.at(piece), fmt::format("an empty name; {}", grammar));
    }
    const bool again =
        std::ranges::find(contenders, piece.text, &Contender::name) != contenders.end();
    if (again) {
      throw ConfigError(reader.at(piece),
                        fmt::format("'{}' is there twice; expected once", piece.text));
    }
    contenders.push_back(contender_of(piece, reader));
  }
  return contenders;
}

void put_contender(YamlValue& scenario, const Contender& contender) {
  const std::string written = strategy_named(scenario);
  auto entry = std::ranges::find(scenario.entries, "strategy", &YamlEntry::key);
  if (entry == scenario.entries.end()) {
    scenario.entries.push_back(
        {"strategy", contender.strategy.where, mapping(contender.strategy.where)});
    entry = scenario.entries.end() - 1;
  }
  YamlValue& strategy = entry->value;
  const auto preset = contender.is_preset ? find_preset(contender.choice) : std::nullopt;
  const std::string chosen = preset ? preset->strategy.find("name")->text : contender.choice;
  // What the contender sets itself counts, whichever way the scenario sets it.
  std::erase_if(strategy.entries, [&](const YamlEntry& old) {
    const std::string key = key_of_variable(old.key, chosen);
    return !key.empty() && std::ranges::find(contender.strategy.entries, key, &YamlEntry::key) !=
                               contender.strategy.entries.end();
  });
  if (contender.is_preset || written != contender.choice) {
    std::erase_if(strategy.entries, [&](const YamlEntry& old) {
      const bool of_preset =
          old.key == "compression" && preset && preset->strategy.find(old.key) != nullptr;
      return !stays(old.key, chosen) || of_preset;
    });
  } else {
    // The same strategy: by its preset if the scenario says so, and then without the name.
    std::erase_if(strategy.entries, [](const YamlEntry& old) { return old.key == "name"; });
  }
  for (const YamlEntry& own : contender.strategy.entries) set(strategy, own);
}

}  // namespace gradwire::config
