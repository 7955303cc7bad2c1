#pragma once

#include <string>

namespace gradwire::fuzz {

// As the parts of `gradwire import` of these names, into a compute profile; of a trace with
// collectives, also into a table of them. @throws ConfigError

void read_kineto_text(const std::string& bytes);
void read_kineto_gzip(const std::string& bytes);
/// Of PyTorch's, with shapes only, and of Chakra's linker.
void read_execution_trace_text(const std::string& bytes);
/// The bytes of SQLite's file.
void read_nsys_database(const std::string& bytes);
/// The rows of its tables, a line each: a letter for the table ("s" strings, "k" kernels, "c"
/// copies, "m" memsets, "r" calls, "n" NVTX) and its columns, with tabs; an empty one is NULL.
void read_nsys_rows(const std::string& bytes);

// As `gradwire calibrate fit` reads them.

/// The bytes of a recorder's file.
void read_recording_file(const std::string& bytes);
/// The records in its only chunk, whose check sums are right.
void read_recording_records(const std::string& bytes);

}  // namespace gradwire::fuzz
