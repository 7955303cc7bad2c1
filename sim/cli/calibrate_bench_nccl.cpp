#include "sim/cli/calibrate_bench_nccl.hpp"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "sim/cli/child_program.hpp"
#include "sim/cli/messages.hpp"
#include "sim/cli/one_of.hpp"

namespace gradwire::cli {
namespace {

constexpr const char* program_name = "gradwire-bench";
constexpr const char* collectives_name = "collectives";
constexpr int no_device = 4;

/// The program, where it was built or installed beside this one; else "".
std::string find_program() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path program = own.parent_path() / program_name;
  return !error && std::filesystem::exists(program, error) ? program.string() : std::string();
}

std::vector<std::string> command_of(const NcclBench& bench, const std::string& program,
                                    const std::string& part, const std::string& output) {
  const std::filesystem::path folder = output;
  if (part != collectives_name) return {program, part, "--output", folder / (part + ".json")};
  std::vector<std::string> words = {program,       part,           "--output",
                                    folder / part, "--algorithms", bench.algorithms,
                                    "--protocols", bench.protocols};
  if (!bench.ops.empty()) words.insert(words.end(), {"--ops", bench.ops});
  if (!bench.sizes.empty()) words.insert(words.end(), {"--sizes", bench.sizes});
  return words;
}

}  // namespace

void add_nccl_options(CLI::App& command, NcclBench& bench) {
  const std::string group = "With --backend nccl";
  command.add_option("--parts", bench.parts, "What is measured: some of them, commas between")
      ->delimiter(',')
      ->capture_default_str()
      ->check(one_of(NcclBench().parts))
      ->group(group);
  command
      .add_option("--algorithms", bench.algorithms,
                  "Of collectives, forced in turn: auto, ring, tree, nvls, ...; all")
      ->capture_default_str()
      ->group(group);
  command.add_option("--protocols", bench.protocols, "The same: auto, ll, ll128, simple; all")
      ->capture_default_str()
      ->group(group);
}

int run_nccl_bench(const NcclBench& bench, const std::string& output) {
  const std::string program = find_program();
  if (program.empty()) {
    tell(
        "no {} beside this program: it is built where the CUDA toolkit with nvcc is found; "
        "expected a build with -DGRADWIRE_CUDA=ON, or calibrate_node.sh on the GPU node\n",
        program_name);
    return no_device;
  }
  for (const std::string& part : bench.parts) {
    const int code = run_program(command_of(bench, program, part, output), {});
    const bool one_gpu = code == no_device && part == collectives_name && bench.parts.size() > 1;
    if (code != 0 && !one_gpu) return code;
  }
  return 0;
}

}  // namespace gradwire::cli
