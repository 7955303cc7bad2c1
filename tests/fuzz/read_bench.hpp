#pragma once

#include <string>

namespace gradwire::fuzz {

// As the parts of `gradwire import` of these names, into a table. @throws ConfigError

void read_nccl_log_text(const std::string& bytes);
/// Text or JSON.
void read_nccl_tests_text(const std::string& bytes);
/// torchinfo's text or CSV, into a model.
void read_model_table_text(const std::string& bytes);

/// As `gradwire calibrate fit` reads what runs on a node beside the recorder: collectives, copies,
/// overlap, compressors, workload.json, uninstrumented.json. @throws ConfigError where it is none.
void read_bench_json(const std::string& bytes);

}  // namespace gradwire::fuzz
