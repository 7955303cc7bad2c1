#include "tests/fuzz/read_traces.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "calibration/attribution/collectives.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/import/execution_trace.hpp"
#include "calibration/import/kineto.hpp"
#include "calibration/import/nsys.hpp"
#include "calibration/import/recording.hpp"
#include "calibration/import/trace_collectives.hpp"
#include "sim/config/check.hpp"
#include "sim/config/collective/collective_table_yaml.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/core/error.hpp"
#include "tests/calibration/made_up_recording.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/nsys_rows.hpp"

namespace gradwire::fuzz {
namespace {

void fit(const calibration::Trace& trace) {
  calibration::ProfileSubject subject;
  subject.model = "fuzzed";
  subject.gpu = "v100-sxm2-16gb";
  subject.batch_per_gpu = 8;
  subject.dtype = "fp32";
  subject.source.kind = "imported";
  subject.iteration = Seconds{1};
  const calibration::ProfileFit fitted = calibration::fit_trace(trace, subject);
  static_cast<void>(config::checked(config::write_profile(fitted.recorded), "p.yaml", trace.file));
}

/// Both of what a trace becomes: that it is no profile does not say that it is no table.
void use(const calibration::Trace& trace) {
  const auto collectives = calibration::collectives_of(trace);
  if (!collectives.empty()) {
    try {
      CollectiveTable table;
      table.library = "nccl";
      table.series = calibration::tables_of(collectives, trace.file, 0, 2).series;
      static_cast<void>(
          config::checked(config::write_collective_table(table), "t.yaml", trace.file));
    } catch (const ConfigError&) {
    }
  }
  fit(trace);
}

}  // namespace

void read_kineto_text(const std::string& bytes) {
  use(calibration::parse_kineto(bytes, "k.json"));
}

void read_kineto_gzip(const std::string& bytes) {
  use(calibration::read_kineto(memory_file(bytes)));
}

void read_execution_trace_text(const std::string& bytes) {
  calibration::Trace timed = calibration::parse_execution_trace(bytes, "et.json");
  calibration::complete_from(timed, calibration::parse_execution_trace(bytes, "et.json"));
  use(timed);
}

void read_nsys_database(const std::string& bytes) {
  use(calibration::read_nsys(disk_file(bytes)));
}

void read_nsys_rows(const std::string& bytes) {
  use(calibration::read_nsys(disk_file(nsys_database(bytes))));
}

void read_recording_file(const std::string& bytes) {
  const calibration::Recording recording = calibration::read_recording(memory_file(bytes));
  static_cast<void>(calibration::iteration_times(recording.trace));
  use(recording.trace);
}

void read_recording_records(const std::string& bytes) {
  const auto records = std::as_bytes(std::span(bytes.data(), bytes.size() / 8 * 8));
  calibration::test::MadeFile file;
  file.chunk(1, {records.begin(), records.end()});
  std::string text(file.bytes().size(), '\0');
  std::ranges::transform(file.bytes(), text.begin(),
                         [](std::byte byte) { return static_cast<char>(byte); });
  read_recording_file(text);
}

}  // namespace gradwire::fuzz
