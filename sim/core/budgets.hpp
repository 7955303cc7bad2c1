#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gradwire {

/// What one input may cost at most, so that no file takes a machine's memory or time: any input
/// below 1 MB ends within 2 s and 256 MB, any below 100 MB within 30 s and 1 GB, or is refused by
/// the budget's name. docs/input_budgets.md lists them.
struct Budget {
  std::string_view name;
  std::uint64_t most = 0;
  std::string_view unit;  ///< "bytes", "levels", "to 1"
  std::string_view of;    ///< what it bounds
};

// Sizes of files. Those of people and benchmarks are a few hundred kB at most; ten times as much
// and more has room here.
inline constexpr Budget yaml_bytes{"yaml_bytes", std::uint64_t{8} << 20U, "bytes", "a YAML file"};
inline constexpr Budget json_bytes{"json_bytes", std::uint64_t{16} << 20U, "bytes",
                                   "a JSON file that is no trace"};
inline constexpr Budget table_bytes{
    "table_bytes", std::uint64_t{8} << 20U, "bytes",
    "a text of nccl-tests, a table of layers, or any other text without a budget of its own"};
inline constexpr Budget log_bytes{"log_bytes", std::uint64_t{64} << 20U, "bytes", "a log of NCCL"};
inline constexpr Budget topology_bytes{"topology_bytes", std::uint64_t{4} << 20U, "bytes",
                                       "NCCL's XML, or the text of nvidia-smi"};
/// What simdjson can index.
inline constexpr Budget trace_bytes{"trace_bytes", 0xFFFF'0000, "bytes", "a trace in JSON"};

// gzip: profilers' JSON shrinks to a tenth or a thirtieth.
inline constexpr Budget unzipped_bytes{"unzipped_bytes", std::uint64_t{160} << 20U, "bytes",
                                       "what a gzip file unpacks to"};
inline constexpr Budget unzipped_ratio{"unzipped_ratio", 64, "to 1",
                                       "what a gzip file unpacks to, beyond its first MiB"};

// YAML and JSON trees.
inline constexpr Budget yaml_values{
    "yaml_values", 300'000, "values",
    "a YAML file, copies for anchors and aliases counted; a JSON file that is "
    "no trace"};
inline constexpr Budget yaml_copied_bytes{"yaml_copied_bytes", std::uint64_t{32} << 20U, "bytes",
                                          "texts that anchors and aliases copy"};
inline constexpr Budget yaml_depth{"yaml_depth", 64, "levels", "YAML values inside each other"};
inline constexpr Budget yaml_keys{"yaml_keys", 10'000, "keys", "one YAML mapping or JSON object"};
inline constexpr Budget json_depth{"json_depth", 64, "levels", "JSON values inside each other"};
inline constexpr Budget string_bytes{"string_bytes", std::uint64_t{1} << 20U, "bytes",
                                     "one text inside a YAML or JSON file that is no trace"};

// Traces and what belongs to them.
inline constexpr Budget trace_rows{"trace_rows", 5'000'000, "rows",
                                   "an Nsight Systems database or a recording"};
inline constexpr Budget trace_nodes{"trace_nodes", 2'000'000, "nodes",
                                    "an execution trace of PyTorch's"};
inline constexpr Budget trace_depth{"trace_depth", 2'000, "levels",
                                    "ranges of one thread inside each other"};
inline constexpr Budget sqlite_seconds{"sqlite_seconds", 25, "seconds",
                                       "one query of an Nsight Systems database"};
inline constexpr Budget sqlite_checked_bytes{
    "sqlite_checked_bytes", std::uint64_t{1} << 30U, "bytes",
    "an Nsight Systems database whose structure is checked before it is read"};
inline constexpr Budget sqlite_value_bytes{"sqlite_value_bytes", std::uint64_t{1} << 20U, "bytes",
                                           "one value of an Nsight Systems database"};
inline constexpr Budget symbol_bytes{
    "symbol_bytes", 4'096, "bytes",
    "a mangled kernel name; a longer one is cut to its scope and name"};
inline constexpr Budget demangled_bytes{
    "demangled_bytes", 16'384, "bytes",
    "a demangled kernel name; a longer one is cut to its scope and name"};
inline constexpr Budget demangler_bytes{"demangler_bytes", std::uint64_t{64} << 20U, "bytes",
                                        "all demangled names of a recording; the others are cut "
                                        "to their scope and name"};

// Tables and machines.
inline constexpr Budget matrix_devices{"matrix_devices", 512, "devices", "a matrix of nvidia-smi"};
inline constexpr Budget topology_elements{"topology_elements", 4'000, "elements", "NCCL's XML"};
inline constexpr Budget misspelt_name_bytes{"misspelt_name_bytes", 200, "bytes",
                                            "a name for which the nearest known one is looked up"};

// Above what anybody waits for: each combination is a run, and 'check' reads each value once.
inline constexpr Budget sweep_values{"sweep_values", 500, "values",
                                     "the values of a scenario's 'vary', all axes together"};
inline constexpr Budget sweep_combinations{"sweep_combinations", 100'000, "combinations",
                                           "the product of a scenario's 'vary'"};

/// All of them, in the order above.
[[nodiscard]] std::span<const Budget> input_budgets();

/// "more than 8388608 bytes (limit yaml_bytes, of a YAML file)", for a message.
[[nodiscard]] std::string over(const Budget& budget);

}  // namespace gradwire
