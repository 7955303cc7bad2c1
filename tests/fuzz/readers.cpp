#include "tests/fuzz/readers.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "sim/core/error.hpp"
#include "tests/fuzz/read_bench.hpp"
#include "tests/fuzz/read_topologies.hpp"
#include "tests/fuzz/read_traces.hpp"
#include "tests/fuzz/read_yaml.hpp"

namespace gradwire::fuzz {
namespace {

constexpr std::array<Reader, 20> known{{
    {"scenario", read_yaml},
    {"profile", read_yaml},
    {"model", read_yaml},
    {"machine", read_yaml},
    {"table", read_yaml},
    {"set_option", read_set_option},
    {"result", read_result},
    {"kineto", read_kineto_text},
    {"kineto_gzip", read_kineto_gzip},
    {"execution_trace", read_execution_trace_text},
    {"nsys", read_nsys_database},
    {"nsys_rows", read_nsys_rows},
    {"recording", read_recording_file},
    {"recording_records", read_recording_records},
    {"nccl_log", read_nccl_log_text},
    {"nccl_tests", read_nccl_tests_text},
    {"bench", read_bench_json},
    {"model_table", read_model_table_text},
    {"nccl_topo", read_nccl_topo_xml},
    {"smi_topo", read_smi_topo_text},
}};

}  // namespace

std::span<const Reader> readers() {
  return known;
}

const Reader& reader_of(std::string_view name) {
  const auto found = std::ranges::find(known, name, &Reader::name);
  if (found == known.end()) throw std::out_of_range("no reader '" + std::string(name) + "'");
  return *found;
}

bool accepts(const Reader& reader, const std::string& bytes) {
  try {
    reader.read(bytes);
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

}  // namespace gradwire::fuzz
