#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/progress.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::array commands = {
    BenchCommand{"node", "GPUs, links, cards, CPUs and versions of this node", run_node},
    BenchCommand{"copies", "copies between host and GPUs, and between GPUs", run_copies},
    BenchCommand{"collectives", "NCCL by operation, size, ranks, algorithm, protocol",
                 run_collectives},
    BenchCommand{"overlap", "how much compute and communication slow each other", run_overlap},
    BenchCommand{"compressors_cpu", "encoding and decoding by dithering on a CPU; needs no GPU",
                 run_compressors_cpu},
    BenchCommand{"selftest", "holds every kernel to its reference on the CPU", run_selftest},
};

void print_help(std::FILE* out) {
  std::fprintf(out, "usage: gradwire-bench COMMAND [--option VALUE]...\n");
  for (const BenchCommand& command : commands) {
    std::fprintf(out, "  %-16s %s\n", command.name, command.help);
  }
  std::fprintf(out,
               "`gradwire-bench COMMAND --help` lists its options. Exit codes: 0 done, 1 failed, 2 "
               "bad command line,\n4 no GPU or driver, 130 interrupted (what was finished is "
               "written).\n");
}

int run(const std::vector<std::string>& words) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    print_help(stdout);
    return exit_done;
  }
  if (!words.empty() && words[0] == "--version") {
    std::printf("%s\n", tool_name().c_str());
    return exit_done;
  }
  for (const BenchCommand& command : commands) {
    if (words.empty() || words[0] != command.name) continue;
    catch_interrupts();
    return command.run({words.begin() + 1, words.end()});
  }
  if (words.empty()) {
    print_help(stderr);
  } else {
    std::fprintf(stderr, "gradwire-bench: unknown command '%s'; expected one of", words[0].c_str());
    for (const BenchCommand& command : commands) std::fprintf(stderr, " %s", command.name);
    std::fputc('\n', stderr);
  }
  return exit_usage;
}

int run_guarded(const std::vector<std::string>& words) {
  try {
    return run(words);
  } catch (const HelpWanted& help) {
    std::printf("%s", help.what());
    return exit_done;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "gradwire-bench: %s\n", error.what());
    return exit_usage;
  } catch (const NoDevice& error) {
    std::fprintf(stderr, "gradwire-bench: %s\n", error.what());
    return exit_no_device;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradwire-bench: %s\n", error.what());
    return exit_failed;
  }
}

}  // namespace
}  // namespace gradwire::calibration

int main(int argc, char** argv) {
  return gradwire::calibration::run_guarded({argv + 1, argv + argc});
}
