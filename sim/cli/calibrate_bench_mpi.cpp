#include "sim/cli/calibrate_bench_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "sim/cli/child_program.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/one_of.hpp"
#include "sim/core/error.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/cost/mpi.hpp"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* program_name = "gradwire-mpi-bench";

/// What coll_tuned_allreduce_algorithm of Open MPI 4 calls by the same names, and its decision.
std::vector<std::string> measured_algorithms() {
  std::vector<std::string> names = MpiLibrary::all_reduce_algorithms();
  names.insert(names.begin(), "auto");
  return names;
}

fs::path find_program() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path program = folder / program_name;
  if (!error && fs::exists(program)) return program;
  throw std::runtime_error(
      fmt::format("no {} beside this program: it is built where Open MPI's libopenmpi-dev and "
                  "openmpi-bin are installed; install them and build again",
                  program_name));
}

/// Of "a,b:2": 3, as mpirun counts slots.
int slots_of(const std::string& hosts) {
  int slots = 0;
  std::istringstream list(hosts);
  for (std::string host; std::getline(list, host, ',');) {
    const std::size_t colon = host.rfind(':');
    int own = 1;
    if (colon != std::string::npos) {
      const char* end = host.data() + host.size();
      const auto read = std::from_chars(host.data() + colon + 1, end, own);
      if (read.ec != std::errc{} || read.ptr != end || own < 1) {
        throw ConfigError({"--hosts", 1, 1},
                          fmt::format("'{}' has no number of slots behind its colon; expected "
                                      "host or host:slots",
                                      host));
      }
    }
    slots += own;
  }
  return slots;
}

int ranks_of(const MpiBench& bench) {
  constexpr int alone = 2;
  if (bench.ranks > 0) return bench.ranks;
  if (bench.hosts.empty()) return alone;
  const int slots = slots_of(bench.hosts);
  if (slots > 1) return slots;
  throw ConfigError(
      {"--hosts", 1, 1},
      fmt::format("'{}' is room for one rank; expected two hosts or slots at least", bench.hosts));
}

/// Bytes with commas between, each a float for every rank at least.
std::string sizes_for(const MpiBench& bench, int ranks) {
  const auto least = static_cast<std::int64_t>(sizeof(float)) * ranks;
  std::string text;
  for (const Bytes size : parse_sizes(bench.sizes)) {
    if (size.count() % least != 0) {
      throw ConfigError({"--sizes", 1, 1},
                        fmt::format("{} B are not a float for each of {} ranks; expected multiples "
                                    "of {} B",
                                    size.count(), ranks, least));
    }
    text += (text.empty() ? "" : ",") + std::to_string(size.count());
  }
  return text;
}

/// The collectives that the program knows. @throws ConfigError for another one, or none.
const std::string& checked(const std::string& ops) {
  static const std::vector<std::string> known = {"all_reduce", "reduce_scatter", "all_gather",
                                                 "broadcast",  "reduce",         "all_to_all"};
  std::istringstream list(ops + ",");
  for (std::string op; std::getline(list, op, ',');) {
    if (std::ranges::find(known, op) != known.end()) continue;
    throw ConfigError({"--ops", 1, 1},
                      fmt::format("'{}' is no collective of the MPI benchmark; expected {}{}", op,
                                  joined_by(known, ", "), suggestion(op, known)));
  }
  return ops;
}

std::vector<std::string> command_of(const MpiBench& bench, const std::string& output) {
  const int ranks = ranks_of(bench);
  std::vector<std::string> words = {"mpirun", "-np", std::to_string(ranks)};
  if (bench.hosts.empty()) {
    words.emplace_back("--oversubscribe");
  } else {
    words.insert(words.end(), {"--host", bench.hosts});
  }
  if (bench.algorithm != "auto") {
    words.insert(words.end(), {"--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
                               "coll_tuned_allreduce_algorithm", bench.algorithm});
  }
  std::istringstream more(bench.mpirun);
  for (std::string word; more >> word;) words.push_back(word);
  words.insert(words.end(),
               {find_program().string(), output, checked(bench.ops), sizes_for(bench, ranks),
                fmt::format("{}", bench.budget), bench.algorithm});
  return words;
}

}  // namespace

void add_mpi_options(CLI::App& command, MpiBench& bench) {
  const std::string group = "With --backend mpi";
  command.add_option("--hosts", bench.hosts, "Hosts, as mpirun's --host: a,b or a:2,b:2")
      ->group(group);
  command
      .add_option("--ranks", bench.ranks, "Ranks; else the slots of the hosts, two without hosts")
      ->check(CLI::Range(2, 65'536))
      ->group(group);
  command.add_option("--ops", bench.ops, "Collectives, commas between: all_reduce,all_gather")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--algorithm", bench.algorithm, "Of all_reduce, forced; else Open MPI decides")
      ->capture_default_str()
      ->check(one_of(measured_algorithms()))
      ->group(group);
  command.add_option("--sizes", bench.sizes, "Sizes, as `gradwire collective` takes them")
      ->capture_default_str()
      ->group(group);
  command.add_option("--budget", bench.budget, "Seconds for each size")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("--mpirun", bench.mpirun, "Further words for mpirun")->group(group);
}

int run_mpi_bench(const MpiBench& bench, const std::string& output) {
  const std::vector<std::string> words = command_of(bench, output);
  fs::create_directories(output);
  const int code = run_program(words, {});
  if (code == cannot_run) {
    throw std::runtime_error("no mpirun on the PATH; install the package openmpi-bin");
  }
  return code;
}

}  // namespace gradwire::cli
