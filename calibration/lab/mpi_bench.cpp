// Times MPI's collectives by size. Run it under mpirun, one process a rank; rank 0 writes one file
// a collective, gradwire.bench.collectives/1 (calibration/import/bench_collectives.hpp).
//
// usage: gradwire-mpi-bench DIR OPS SIZES BUDGET ALGORITHM
//   OPS     comma-separated: all_reduce,reduce_scatter,all_gather,broadcast,reduce,all_to_all
//   SIZES   comma-separated bytes, of the whole as nccl-tests counts; rising
//   BUDGET  seconds for each size, at least a few calls
//   ALGORITHM  of all_reduce that mpirun was told to force, for the file: auto, or gradwire's name
//   of it
// Exit codes: 0 done; 2 bad arguments; 3 the folder cannot be written.

#include <mpi.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/core/output_file.hpp"

namespace {

constexpr int calls_min = 5;
constexpr int calls_max = 200;
/// Between a barrier and a call: until the barrier's last messages are gone.
constexpr useconds_t pause_us = 2000;

struct Ranks {
  int own = 0;
  int count = 0;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The buffers of one size; `part` is a rank's share where the collective has parts.
struct Buffers {
  std::vector<float> in;
  std::vector<float> out;
  int all = 0;
  int part = 0;
};

using Call = std::function<void(Buffers&)>;

/// The collectives of this program by their names in gradwire.
const std::map<std::string, Call>& calls() {
  static const std::map<std::string, Call> known = {
      {"all_reduce",
       [](Buffers& b) {
         MPI_Allreduce(b.in.data(), b.out.data(), b.all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       }},
      {"reduce_scatter",
       [](Buffers& b) {
         MPI_Reduce_scatter_block(b.in.data(), b.out.data(), b.part, MPI_FLOAT, MPI_SUM,
                                  MPI_COMM_WORLD);
       }},
      {"all_gather",
       [](Buffers& b) {
         MPI_Allgather(b.in.data(), b.part, MPI_FLOAT, b.out.data(), b.part, MPI_FLOAT,
                       MPI_COMM_WORLD);
       }},
      {"broadcast",
       [](Buffers& b) { MPI_Bcast(b.in.data(), b.all, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"reduce",
       [](Buffers& b) {
         MPI_Reduce(b.in.data(), b.out.data(), b.all, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
       }},
      {"all_to_all", [](Buffers& b) {
         MPI_Alltoall(b.in.data(), b.part, MPI_FLOAT, b.out.data(), b.part, MPI_FLOAT,
                      MPI_COMM_WORLD);
       }}};
  return known;
}

/// Seconds of one call on the slowest rank, known to all.
double timed(const Call& call, Buffers& buffers) {
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(pause_us);
  const double start = MPI_Wtime();
  call(buffers);
  const double own = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/// Rising times of as many calls as the budget allows.
std::vector<double> measure(const Call& call, std::int64_t bytes, int ranks, double budget) {
  Buffers buffers;
  const auto elements = static_cast<std::size_t>(bytes) / sizeof(float);
  buffers.part = static_cast<int>(elements / static_cast<std::size_t>(ranks));
  buffers.all = static_cast<int>(elements);
  buffers.in.assign(elements, 1);
  buffers.out.assign(elements, 0);
  timed(call, buffers);  // connects
  const double first = timed(call, buffers);
  const int count =
      std::clamp(static_cast<int>(budget / std::max(first, 1e-6)), calls_min, calls_max);
  std::vector<double> times(static_cast<std::size_t>(count));
  for (double& time : times) time = timed(call, buffers);
  std::sort(times.begin(), times.end());
  return times;
}

/// The ceil(p n)-th smallest, in microseconds.
double nearest_rank(const std::vector<double>& rising, double share) {
  const auto n = static_cast<double>(rising.size());
  return 1e6 * rising[static_cast<std::size_t>(std::max(1.0, std::ceil(share * n))) - 1];
}

std::string row(std::int64_t bytes, const std::vector<double>& times) {
  double sum = 0;
  for (const double time : times) sum += time;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "{\"size_bytes\": %lld, \"n\": %zu, \"mean_us\": %.2f, \"min_us\": %.2f, "
                "\"p50_us\": %.2f, \"p95_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f}",
                static_cast<long long>(bytes), times.size(),
                1e6 * sum / static_cast<double>(times.size()), 1e6 * times.front(),
                nearest_rank(times, 0.50), nearest_rank(times, 0.95), nearest_rank(times, 0.99),
                1e6 * times.back());
  return text.data();
}

/// "4.1.4" of "Open MPI v4.1.4, package: ..."; else the library's own first line.
std::string version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  constexpr std::string_view open_mpi = "Open MPI v";
  if (all.starts_with(open_mpi)) {
    return all.substr(open_mpi.size(), all.find(',') - open_mpi.size());
  }
  std::string line = all.substr(0, all.find_first_of("\n\r"));
  std::erase_if(line, [](char c) { return c == '"' || c == '\\' || c < ' '; });
  return line;
}

/// Machine of each rank, counted from 0 in order of first appearance.
std::vector<int> machines(const Ranks& ranks) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<char> names(own.size() * static_cast<std::size_t>(ranks.count));
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, names.data(),
                static_cast<int>(own.size()), MPI_CHAR, MPI_COMM_WORLD);
  std::map<std::string, int> known;
  std::vector<int> of_rank;
  for (int rank = 0; rank < ranks.count; ++rank) {
    const std::string name(names.data() + static_cast<std::size_t>(rank) * own.size());
    const auto next = static_cast<int>(known.size());
    of_rank.push_back(known.emplace(name, next).first->second);
  }
  return of_rank;
}

std::string head(const std::string& op, const std::string& algorithm,
                 const std::vector<int>& of_rank) {
  std::array<char, 16> date{};
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d", gmtime_r(&now, &calendar));
  std::string placement;
  int nodes = 0;
  for (const int machine : of_rank) {
    placement += (placement.empty() ? "" : ", ") + std::to_string(machine);
    nodes = std::max(nodes, machine + 1);
  }
  return "{\"schema\": \"gradwire.bench.collectives/1\",\n \"tool\": \"gradwire-mpi-bench\", "
         "\"date\": \"" +
         std::string(date.data()) + "\",\n \"library\": \"mpi\", \"version\": \"" + version() +
         "\",\n \"ranks\": " + std::to_string(of_rank.size()) +
         ", \"nodes\": " + std::to_string(nodes) + ", \"placement\": [" + placement +
         "],\n \"op\": \"" + op + R"(", "dtype": "float32", "in_place": false, "algorithm": ")" +
         algorithm + "\", \"protocol\": \"auto\",\n \"rows\": [";
}

struct Arguments {
  std::string folder;
  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;
  double budget = 0;
  std::string algorithm;
};

/// "" and the arguments, or what is wrong.
std::string read_arguments(int count, char** words, int ranks, Arguments& read) {
  if (count != 6) return "expected DIR OPS SIZES BUDGET ALGORITHM";
  read.folder = words[1];
  read.ops = split(words[2]);
  for (const std::string& op : read.ops) {
    if (!calls().contains(op)) return "unknown collective '" + op + "'";
  }
  for (const std::string& text : split(words[3])) {
    std::int64_t bytes = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), bytes);
    const auto least = static_cast<std::int64_t>(sizeof(float)) * ranks;
    const bool rises = read.sizes.empty() || bytes > read.sizes.back();
    const bool counts = bytes / static_cast<std::int64_t>(sizeof(float)) <=
                        std::numeric_limits<int>::max();  // MPI's counts are int
    if (end.ec != std::errc{} || bytes < least || bytes % least != 0 || !rises || !counts) {
      return "size '" + text + "'; expected rising multiples of " + std::to_string(least) +
             " B, a float for each rank, below 8 GiB";
    }
    read.sizes.push_back(bytes);
  }
  const std::string budget = words[4];
  const auto end = std::from_chars(budget.data(), budget.data() + budget.size(), read.budget);
  if (end.ec != std::errc{} || read.budget <= 0) return "BUDGET '" + budget + "'; expected seconds";
  read.algorithm = words[5];
  const auto is_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
  if (!std::all_of(read.algorithm.begin(), read.algorithm.end(), is_name)) {
    return "ALGORITHM '" + read.algorithm + "'; expected auto or a name";
  }
  return "";
}

int run(const Arguments& arguments, const Ranks& ranks) {
  const std::vector<int> of_rank = machines(ranks);
  for (const std::string& op : arguments.ops) {
    std::string text = head(op, op == "all_reduce" ? arguments.algorithm : "auto", of_rank);
    const char* separator = "\n  ";
    for (const std::int64_t bytes : arguments.sizes) {
      const auto times = measure(calls().at(op), bytes, ranks.count, arguments.budget);
      text += separator + row(bytes, times);
      separator = ",\n  ";
      if (ranks.own == 0) {
        std::printf("%-14s %10lld B %4d ranks %12.1f us\n", op.c_str(),
                    static_cast<long long>(bytes), ranks.count, nearest_rank(times, 0.5));
        static_cast<void>(std::fflush(stdout));
      }
    }
    if (ranks.own != 0) continue;
    const std::string file =
        arguments.folder + "/mpi_" + op + "_" + std::to_string(ranks.count) + ".json";
    try {
      gradwire::write_file(file, text + "\n ]}\n");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gradwire-mpi-bench: %s\n", error.what());
      return 3;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.own);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
  Arguments arguments;
  int code = 2;
  const std::string wrong = read_arguments(argc, argv, ranks.count, arguments);
  if (!wrong.empty()) {
    if (ranks.own == 0) std::fprintf(stderr, "gradwire-mpi-bench: %s\n", wrong.c_str());
  } else {
    code = run(arguments, ranks);
  }
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return 0;
}
