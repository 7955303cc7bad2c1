#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/import/nccl_tests.hpp"
#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"
#include "sim/cost/measured_table.hpp"

namespace gradwire {

/// What NCCL decided for one collective.
struct NcclChoice {
  std::optional<CollectiveKind> op;  ///< not printed up to 2.22
  Bytes size{0};
  std::string algorithm;
  std::string protocol;
  int channels = 0;             ///< 0 up to 2.22, where it is not printed
  std::optional<Seconds> time;  ///< as NCCL predicts it: printed up to 2.22
  int line = 0;                 ///< of the file
};

/// A cell of the tuning table: NCCL's prediction is latency + size / bandwidth, before its
/// corrections for single sizes, which it does not print.
struct NcclTuning {
  CollectiveKind op = CollectiveKind::all_reduce;
  std::string algorithm;
  std::string protocol;
  Seconds latency;
  BytesPerSecond bandwidth;  ///< of the size; 0: not to be taken
};

/// A line "Pattern 4, crossNic 0, nChannels 12, bw 20.0/20.0, type NVL/PIX, sameChannels 1".
struct NcclGraph {
  int pattern = 0;  ///< NCCL's number (v2.28.9, src/include/graph.h): 1, 2, 3 trees, 4 ring, 5 NVLS
  int channels = 0;
  BytesPerSecond inside;   ///< a channel, within a machine
  BytesPerSecond between;  ///< a channel, between machines
};

/// What NCCL told with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING.
struct NcclLog {
  std::vector<NcclChoice> choices;  ///< in the order of the file, each decision once
  std::vector<NcclTuning> tuning;
  std::vector<NcclGraph> graphs;  ///< each once
  int ranks = 0;                  ///< the largest communicator's, 0 when unknown
  int nodes = 0;                  ///< same
  std::string version;            ///< "" when unknown
};

/// Reads a log in the forms of NCCL 2.4 to 2.28; lines of other things are passed over.
/// @throws ConfigError at a line of such a form that is damaged, or when there is neither a choice
///         nor a tuning table nor a graph.
[[nodiscard]] NcclLog read_nccl_log(const std::string& text, const std::string& file);

/// The log's choices as rows: NCCL's own prediction, printed or from the tuning table (then
/// reported).
/// @throws ConfigError when ranks, nodes or operation are nowhere said, or no choice has a time.
[[nodiscard]] ImportedTables tables_of(const NcclLog& log, const std::string& file,
                                       const NcclTestsOptions& options);

/// Gives each measured row the algorithm, protocol and channels that NCCL chose for its size; the
/// first choice of an operation and size counts. @return rows that the log has no choice for.
int name_choices(const NcclLog& log, std::vector<MeasuredSeries>& series);

}  // namespace gradwire
