#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/core/joined_by.hpp"

namespace gradwire::cli {
namespace {

/// What may follow a command: the words of its sub-commands, or its options and files.
struct Entry {
  std::string path;  ///< "show plan", "" for the program itself
  std::vector<std::pair<std::string, std::string>> commands;  ///< name and help
  std::vector<std::pair<std::string, std::string>> options;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Entry>& entries) {
  Entry entry{path, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      entry.options.emplace_back("--" + name, option->get_description());
    }
  }
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    entry.commands.emplace_back(command->get_name(), command->get_description());
  }
  entries.push_back(std::move(entry));
  for (const CLI::App* command : commands) {
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
            entries);
  }
}

std::string words(const Entry& entry) {
  std::string text;
  for (const auto* list : {&entry.commands, &entry.options}) {
    for (const auto& [name, help] : *list) text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

/// The longest known path of sub-commands typed so far decides the words; else files.
std::string bash(const std::vector<Entry>& entries) {
  std::string text =
      "_gradwire() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path= next= word i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
      "    case \"$next\" in\n";
  std::vector<std::string> paths;
  for (const Entry& entry : entries) {
    if (!entry.path.empty()) paths.push_back('"' + entry.path + '"');
  }
  text += fmt::format("      {}) path=$next ;;\n    esac\n  done\n  case \"$path\" in\n",
                      joined_by(paths, "|"));
  for (const Entry& entry : entries) {
    text += fmt::format("    \"{}\") word=\"{}\" ;;\n", entry.path, words(entry));
  }
  return text +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$word\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _gradwire gradwire\n";
}

/// zsh runs the bash function by its own compatibility layer.
std::string zsh(const std::vector<Entry>& entries) {
  return "#compdef gradwire\nautoload -U +X compinit && compinit\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash(entries);
}

std::string quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return '\'' + text + '\'';
}

std::string fish(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    std::string condition = "__fish_use_subcommand";
    if (!entry.path.empty()) {
      std::string path = entry.path;
      condition = "__fish_seen_subcommand_from ";
      const auto space = path.find(' ');
      if (space != std::string::npos) {
        condition += path.substr(0, space) + "; and __fish_seen_subcommand_from ";
        path = path.substr(space + 1);
      }
      condition += path;
    }
    for (const auto& [name, help] : entry.commands) {
      text += fmt::format("complete -c gradwire -f -n '{}' -a {} -d {}\n", condition, name,
                          quoted(help));
    }
    for (const auto& [name, help] : entry.options) {
      text += fmt::format("complete -c gradwire -n '{}' -l {} -d {}\n", condition, name.substr(2),
                          quoted(help));
    }
  }
  return text;
}

}  // namespace

void add_completions(CLI::App& app, Context& /*context*/) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "Print a shell's completion script");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(gradwire completions bash)\n"
      "  gradwire completions fish > ~/.config/fish/completions/gradwire.fish");
  command->callback([shell, &app] {
    std::vector<Entry> entries;
    collect(app, "", entries);
    print_text(*shell == "bash" ? bash(entries) : *shell == "zsh" ? zsh(entries) : fish(entries));
  });
}

}  // namespace gradwire::cli
