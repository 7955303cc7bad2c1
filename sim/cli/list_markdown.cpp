#include "sim/cli/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/outgoing_text.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Words of a section's head, by the kind of its entries.
const std::map<std::string_view, std::string_view>& heads() {
  static const std::map<std::string_view, std::string_view> words = {
      {"operation", "Operations"}, {"algorithm", "Algorithms"}, {"library", "Libraries"},
      {"node", "Machines"},        {"cluster", "Clusters"},     {"fabric", "Fabrics"},
      {"link", "Links"},           {"strategy", "Strategies"},  {"compression", "Compression"},
      {"preset", "Presets"},       {"variable", "Variables"}};
  return words;
}

/// What the reader has to know before a section.
const std::map<std::string_view, std::string_view>& introductions() {
  static const std::map<std::string_view, std::string_view> words = {
      {"operation",
       "The size S of a collective is, as in nccl-tests, that of the whole: of each rank's vector\n"
       "(all_reduce, broadcast, reduce), of all ranks' parts together (reduce_scatter, "
       "all_gather,\n"
       "all_to_all, gather, scatter), of the message (send_recv). The root is rank 0."},
      {"algorithm",
       "On n ranks, for size S. *Steps* are messages that one byte's way waits for, one after the\n"
       "other; *bytes per rank* are those that the busiest rank sends."},
      {"library", "What `collective: {library: ...}` of a scenario may name, with its keys."},
      {"fabric", "What `cluster.fabric.kind` may name, with its keys."},
      {"link", "What `fabric.link` may name, or be: payload and latency of one direction."},
      {"strategy",
       "What `strategy: {name: ...}` of a scenario may name, with its keys. Beside them stand\n"
       "`grad_accumulation` and, where a strategy has parameter servers, `servers`. Steps are\n"
       "*exact*: those of synchronous SGD on the whole batch; *lossy*: of this iteration's "
       "gradients\n"
       "in fewer bits or elements, or summed otherwise; *stale*: with gradients of an older model, "
       "or\n"
       "of models that differ. So with default knobs; compression makes exact ones lossy. Which of "
       "them\n"
       "may lose by a faster part, and why: [accuracy.md](accuracy.md#what-holds-of-any-job)."},
      {"compression", "What `strategy.compression: {name: ...}` may name, with its keys."},
      {"preset",
       "What `strategy: {preset: ...}` may name: settings of an original system's run. Keys "
       "beside\n"
       "it count; `gradwire list presets NAME` shows the settings."},
      {"variable",
       "Names of the original systems that may stand in `strategy`, or on the command line as\n"
       "`--env NAME=VALUE`: bare numbers, in the original's unit. What has no effect here, or on "
       "the\n"
       "strategy, is accepted with a warning."},
      {"node", "What `cluster.node` may name."},
      {"cluster", "What `cluster.topology` may name."}};
  return words;
}

std::string text_of(const Json& entry, const char* key) {
  return markdown_prose(entry.value(key, ""));
}

std::string code_of(const Json& entry, const char* key) {
  return markdown_code(entry.value(key, ""));
}

void append_algorithm(std::string& text, const Json& entry) {
  text +=
      fmt::format("### {}\n\n{}. Ranks: {}. Source: {}.\n\n", code_of(entry, "name"),
                  text_of(entry, "summary"), text_of(entry, "ranges"), text_of(entry, "source"));
  text += "| operation | steps | bytes per rank |\n| --- | --- | --- |\n";
  for (const Json& does : entry.at("operations")) {
    text += fmt::format("| {} | {} | {} |\n", code_of(does, "op"), text_of(does, "steps"),
                        text_of(does, "bytes_per_rank"));
  }
  text += "\n";
}

/// Keys that a section's page has shown, word for word, with the first entry that has them.
using ShownKeys = std::map<std::string, std::string>;

void append_with_parameters(std::string& text, Json entry, ShownKeys& shown) {
  text += fmt::format(
      "### {}\n\n{}.{}\n\n", code_of(entry, "name"), text_of(entry, "summary"),
      entry.contains("exactness") ? fmt::format(" Steps: {}.", text_of(entry, "exactness")) : "");
  if (entry.at("parameters").empty()) {
    text += "No keys of its own.\n\n";
    return;
  }
  Json own = Json::array();
  std::vector<std::pair<std::string, std::string>>
      others;  // an entry above, and keys as it has them
  for (const Json& key : entry.at("parameters")) {
    const auto [at, is_new] = shown.emplace(key.dump(), code_of(entry, "name"));
    if (is_new) {
      own.push_back(key);
      continue;
    }
    const auto other = std::ranges::find(others, at->second, &decltype(others)::value_type::first);
    if (other == others.end()) {
      others.emplace_back(at->second, code_of(key, "name"));
    } else {
      other->second += ", " + code_of(key, "name");
    }
  }
  entry["parameters"] = own;
  if (!own.empty()) text += keys_markdown(entry) + "\n";
  for (const auto& [name, keys] : others) {
    text += fmt::format("{}s of {}: {}.\n\n", own.empty() ? "A" : "Also, a", name, keys);
  }
}

bool is_line(const Json& entry) {
  return !entry.contains("operations") && !entry.contains("parameters");
}

/// Entries of one kind: those of a line each as a table, the others with a head of their own.
void append_section(std::string& text, const std::vector<const Json*>& entries) {
  const std::string kind = entries.front()->at("kind").get<std::string>();
  const auto head = heads().find(kind);
  const auto words = introductions().find(kind);
  text += fmt::format("## {}\n\n", head == heads().end() ? kind : std::string(head->second));
  if (words != introductions().end()) text += fmt::format("{}\n\n", words->second);
  bool lines = false;
  for (const Json* entry : entries) {
    if (!is_line(*entry)) continue;
    if (!lines) text += "| name | what it is | source |\n| --- | --- | --- |\n";
    lines = true;
    text += fmt::format("| {} | {} | {} |\n", code_of(*entry, "name"), text_of(*entry, "summary"),
                        text_of(*entry, "source"));
  }
  if (lines) text += "\n";
  ShownKeys shown;
  for (const Json* entry : entries) {
    if (entry->contains("operations")) {
      append_algorithm(text, *entry);
    } else if (entry->contains("parameters")) {
      append_with_parameters(text, *entry, shown);
    }
  }
}

}  // namespace

std::string list_markdown(const Json& list, const std::string& title, const std::string& command) {
  std::string text = fmt::format("# {}\n\nMade by `{}`, which a test compares with this page.\n\n",
                                 title, command);
  std::vector<std::string> kinds;
  std::map<std::string, std::vector<const Json*>> sections;
  for (const Json& entry : list) {
    const auto kind = entry.at("kind").get<std::string>();
    if (sections.find(kind) == sections.end()) kinds.push_back(kind);
    sections[kind].push_back(&entry);
  }
  for (const std::string& kind : kinds) append_section(text, sections[kind]);
  text.pop_back();  // a page ends with one line end
  return text;
}

}  // namespace gradwire::cli
