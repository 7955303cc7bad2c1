
#include <memory>
#include <string>
#include <utility>

#include "sim/cli/commands.hpp"
#include "sim/cli/messages.hpp"
#include "sim/report/ddp_diff.hpp"

namespace gradwire::cli {

void add_diff(CLI::App& app, Context& context) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two result files in the layout of the PyTorch DDP benchmark's diff");
  command->add_option("BASELINE", files->first, "Result file (JSON)")->required();
  command->add_option("TEST", files->second, "Result file (JSON)")->required();
  command->footer(
      "Either file may be simulated (--json, --ddp-json) or measured by the PyTorch DDP "
      "benchmark.\n"
      "The numbers are TEST's; the difference is that of the time, negative = slower.\n"
      "Examples:\n"
      "  gradwire diff bucket25.json bucket1.json\n"
      "  gradwire diff measured.json predicted.json");
  command->callback([files, &context] {
    const DdpDiff diff = ddp_diff(files->first, files->second);
    print_text(diff.text);
    if (context.quiet) return;
    for (const std::string& note : diff.notes) tell("note: {}\n", note);
  });
}

}  // namespace gradwire::cli
