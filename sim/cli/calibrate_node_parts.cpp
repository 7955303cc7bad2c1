#include "sim/cli/calibrate_node_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "calibration/import/recording.hpp"
#include "calibration/import/workload.hpp"
#include "sim/cli/collective_fits.hpp"
#include "sim/cli/import.hpp"
#include "sim/config/check.hpp"
#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/cluster/link_tables_yaml.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/core/error.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/plain_text.hpp"
#include "sim/core/text_file.hpp"
#include "topologies/importers/nccl_topo.hpp"
#include "topologies/importers/smi_topo.hpp"

namespace gradwire::cli {
namespace {

namespace fs = std::filesystem;

/// Blocks that a collective is taken to hold where no benchmark tells its channels. Assumed.
constexpr int ctas_assumed = 16;

/// Entries of a folder that `wanted` takes, by name; none where there is no such folder.
template <class Wanted>
std::vector<fs::path> entries_of(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (wanted(entry)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> json_files(const fs::path& folder) {
  return entries_of(folder, [](const fs::directory_entry& entry) {
    return entry.is_regular_file() && entry.path().extension() == ".json";
  });
}

/// Reads a benchmark's file by `read`, nothing where it is not there.
template <class Read>
auto read_if_there(const fs::path& file, const Read& read)
    -> std::optional<decltype(read(std::string(), std::string()))> {
  if (!fs::exists(file)) return std::nullopt;
  return read(read_text_file(file.string(), "a benchmark's record", json_bytes), file.string());
}

std::string day_of(calibration::Nanoseconds realtime) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(realtime)};
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(time)};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

/// Rank 0's recordings of one program.
struct Phases {
  std::optional<calibration::Recording> light;
  std::optional<calibration::Recording> full;
};

Phases read_phases(const fs::path& folder) {
  Phases phases;
  for (const std::string& file : calibration::recording_files(folder.string())) {
    calibration::Recording recording = calibration::read_recording(file);
    if (recording.trace.rank != 0) continue;
    auto& phase = recording.mode == "light" ? phases.light : phases.full;
    if (phase && phase->host != recording.host && !phase->trace.device.empty() &&
        !recording.trace.device.empty()) {
      throw ConfigError(
          {file, 0, 0},
          fmt::format(
              "is of rank 0 on host '{}', and {} of rank 0 on host '{}'; expected one run a "
              "folder, whose processes know their ranks (docker -e RANK -e WORLD_SIZE, or "
              "record --rank-from)",
              recording.host, phase->trace.file, phase->host));
    }
    // A launcher and its children leave a file each: the one that trained has the most to say.
    if (!phase || phase->trace.device.size() < recording.trace.device.size()) {
      phase = std::move(recording);
    }
  }
  return phases;
}

FittedRecording fit_one(const fs::path& folder) {
  FittedRecording made;
  made.name = folder.filename().string();
  calibration::Workload workload = calibration::read_workload((folder / "workload.json").string());
  workload.gpu = config::gpu_of_device(workload.gpu);
  std::vector<Seconds> bare;
  if (const fs::path file = folder / "uninstrumented.json"; fs::exists(file)) {
    bare = calibration::read_iteration_times(file.string());
  }
  const Phases phases = read_phases(folder);
  if (!phases.full) {
    throw ConfigError({folder.string(), 0, 0},
                      "no full recording of rank 0; expected a file full.rank0.HOST.PID.gwr");
  }
  const calibration::Recording& full = *phases.full;
  made.gpus = full.trace.world_size;
  if (!bare.empty()) made.measured = percentiles_of(bare);
  // With several ranks what was measured contains their communication; a profile must not.
  if (made.gpus > 1) bare.clear();
  ProfileSource source;
  source.kind = "recorded";
  source.tool = full.trace.tool;
  source.file = "recordings/" + made.name;
  for (const auto& [fact, value] : workload.facts) {
    source.notes += fmt::format("{}{} {}", source.notes.empty() ? "" : ", ", fact, value);
  }
  if (!source.notes.empty()) source.notes += '.';
  if (!full.clocks.empty()) source.date = day_of(full.clocks.front().realtime);
  made.fit = calibration::fit_recording(
      workload, bare, phases.light ? &phases.light->trace : nullptr, full.trace, source);
  // Others may be fine: this one is refused by itself.
  static_cast<void>(config::checked(profile_text(made.fit), made.name + ".yaml", folder.string()));
  return made;
}

void read_recordings(const fs::path& folder, NodeFindings& findings) {
  const auto folders = entries_of(folder / "recordings", [](const fs::directory_entry& entry) {
    return entry.is_directory() && entry.path().extension() != ".part";
  });
  for (const fs::path& recording : folders) {
    const std::string name = recording.filename().string();
    try {
      if (!is_file_name(name)) {
        throw ConfigError({recording.string(), 0, 0},
                          "a recording's name becomes a file's; expected UTF-8 without control "
                          "characters, at most 200 bytes");
      }
      findings.recordings.push_back(fit_one(recording));
    } catch (const ConfigError& error) {
      findings.refused.push_back({plain_line(name), error.what()});
    }
  }
}

/// The GPU of the node as anything in the folder names it, "" where nothing does.
std::string gpu_of(const NodeFindings& findings) {
  if (!findings.recordings.empty()) return findings.recordings.front().fit.recorded.profile.gpu;
  if (findings.copies) return config::gpu_of_device(findings.copies->gpu);
  if (findings.collectives) return config::gpu_of_device(findings.collectives->gpu);
  return "";
}

void read_topology(const fs::path& folder, const std::string& name, NodeFindings& findings) {
  const fs::path xml = folder / "topology.xml";
  const fs::path matrix = folder / "topo.txt";
  const std::string gpu = gpu_of(findings);
  if (fs::exists(xml)) {
    NcclTopoOptions options;
    options.name = name;
    options.source = "NCCL topology XML of the calibrated node";
    if (fs::exists(matrix)) {
      options.matrix = read_smi_matrix(
          read_text_file(matrix.string(), "nvidia-smi topo -m", topology_bytes, Controls::terminal),
          matrix.string());
      options.matrix_file = matrix.string();
    }
    findings.node = import_nccl_topo(
        config::shipped_links(),
        read_text_file(xml.string(), "NCCL's topology XML", topology_bytes), xml.string(), options);
  } else if (fs::exists(matrix) && !gpu.empty()) {
    SmiTopoOptions options;
    options.name = name;
    options.gpu = gpu;
    options.source = "nvidia-smi topo -m of the calibrated node";
    findings.node = import_smi_topo(
        config::shipped_links(),
        read_text_file(matrix.string(), "nvidia-smi topo -m", topology_bytes, Controls::terminal),
        matrix.string(), options);
  } else {
    findings.notes.emplace_back("no topology.xml and no topo.txt with a known GPU: no node.yaml");
  }
}

void read_collectives(const fs::path& folder, const NodeFit& options, NodeFindings& findings) {
  std::vector<std::string> files;
  for (const fs::path& file : json_files(folder / "collectives")) files.push_back(file.string());
  if (files.empty()) return;
  CollectiveTable table = read_tables(files, {}, findings.notes);
  std::optional<Measured> measured;
  if (!options.cluster.empty()) {
    measured = read_measured(options.cluster, options.sets);
  } else if (findings.node) {
    measured = measured_machine(findings.node->node, table.library);
  }
  if (measured) findings.samples = read_samples(table, *measured, findings.notes);
  if (!findings.samples.empty()) table.fits = fit_all(findings.samples);
  findings.collectives = std::move(table);
}

/// The most blocks that a measured collective held.
int ctas_of(const std::optional<CollectiveTable>& table) {
  int most = 0;
  if (!table) return most;
  for (const MeasuredSeries& series : table->series) {
    for (const MeasuredRow& row : series.rows) most = std::max(most, row.channels);
  }
  return most;
}

/// A recording's own slowdowns stay; kinds that it does not tell get the benchmark's.
void apply_overlap(NodeFindings& findings) {
  if (!findings.overlap) return;
  const int told = ctas_of(findings.collectives);
  findings.overlap_ctas = told > 0 ? told : ctas_assumed;
  if (told == 0) {
    findings.notes.push_back(
        fmt::format("no collective states its channels: slowdowns are those beside {} blocks, "
                    "assumed",
                    ctas_assumed));
  }
  const auto factors = calibration::overlap_factors(*findings.overlap, findings.overlap_ctas);
  for (FittedRecording& recording : findings.recordings) {
    ComputeProfile& profile = recording.fit.recorded.profile;
    std::set<std::string> kinds;
    for (const LayerProfile& layer : profile.layers) kinds.insert(layer.kind);
    for (const auto& [kind, factor] : factors) {
      if (kinds.contains(kind)) profile.overlap.try_emplace(kind, factor);
    }
  }
}

}  // namespace

std::string profile_text(const calibration::ProfileFit& fit) {
  RecordedProfile made = fit.recorded;
  std::string& notes = made.profile.source.notes;
  for (const std::string& note : fit.notes) notes += (notes.empty() ? "" : " ") + note + ".";
  return config::write_profile(made);
}

bool NodeFindings::empty() const {
  return recordings.empty() && refused.empty() && !collectives && !copies && !host && !overlap &&
         compressors.empty();
}

NodeFindings read_node_folder(const NodeFit& options) {
  const fs::path folder = options.folder;
  NodeFindings findings;
  read_recordings(folder, findings);
  findings.copies = read_if_there(folder / "copies.json", calibration::read_bench_copies);
  findings.host = read_if_there(folder / "operators.json", calibration::read_bench_operators);
  findings.overlap = read_if_there(folder / "overlap.json", calibration::read_bench_overlap);
  for (const char* name : {"compressors", "compressors_cpu"}) {
    if (auto bench = read_if_there(folder / (name + std::string(".json")),
                                   calibration::read_bench_compressors)) {
      findings.compressors.push_back({name, std::move(*bench)});
    }
  }
  const std::string name = fs::absolute(fs::path(options.output) / "").parent_path().filename();
  read_topology(folder, name, findings);
  read_collectives(folder, options, findings);
  apply_overlap(findings);
  return findings;
}

}  // namespace gradwire::cli
