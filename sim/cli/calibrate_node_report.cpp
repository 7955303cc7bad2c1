#include <fmt/format.h>

#include "calibration/fit/fit_report.hpp"
#include "calibration/fit/profile_report.hpp"
#include "sim/cli/calibrate_node_parts.hpp"
#include "sim/core/error.hpp"
#include "sim/core/outgoing_text.hpp"

namespace gradwire::cli {
namespace {

constexpr Bytes scored_from{1 << 20};

std::string checked_report(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "";
}

std::string recordings_part(const NodeFindings& findings) {
  std::string text =
      "## Recordings\n\n| recording | GPUs | measured p50 | profile | busy | closure | span | "
      "other | light / none | full / light |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const FittedRecording& recording : findings.recordings) {
    const RecordedProfile& made = recording.fit.recorded;
    const RecordingChecks& checks = made.recording.checks;
    text += fmt::format(
        "| {} | {} | {} | {:.3f} ms | {:.3f} ms | {} | {} | {} | {} | {} |\n",
        markdown_name(recording.name), recording.gpus,
        recording.measured ? fmt::format("{:.3f} ms", 1e3 * recording.measured->p50.count()) : "",
        1e3 * made.profile.iteration.count(), 1e3 * made.profile.gpu_busy.count(),
        checked_report(checks.closure_gpu), checked_report(checks.closure_span),
        checked_report(checks.other), checked_report(checks.light_vs_full),
        checked_report(checks.full_vs_light));
  }
  for (const RefusedRecording& refused : findings.refused) {
    text += fmt::format("\n**{} is refused**: {}\n", markdown_name(refused.name),
                        markdown_name(refused.why));
  }
  for (const FittedRecording& recording : findings.recordings) {
    text += fmt::format("\n### {}\n\n{}", markdown_name(recording.name),
                        markdown_block(calibration::profile_report(recording.fit)));
  }
  return text;
}

std::string collectives_part(const NodeFindings& findings, int folds) {
  if (!findings.collectives) return "";
  const CollectiveTable& table = *findings.collectives;
  std::string text = fmt::format("\n## Collectives ({})\n\n{} tables", markdown_name(table.library),
                                 table.series.size());
  if (findings.samples.empty()) return text + ", none fitted.\n";
  return text + fmt::format(", {} rows fitted; rows from 1 MiB on are scored.\n\n{}",
                            findings.samples.size(),
                            markdown_block(error_table(findings.samples, folds, scored_from) +
                                           '\n' + segment_table(table.fits, findings.samples)));
}

std::string copy_name(const calibration::CopySeries& series) {
  std::string name = markdown_name(series.kind);
  if (series.kind == "peer") {
    name += fmt::format(" {} to {}{}", series.gpus.at(0), series.gpus.at(1),
                        series.peer_access ? "" : ", through the host");
  } else {
    name +=
        fmt::format(" of {} GPUs, {}", series.gpus.size(), series.pinned ? "pinned" : "pageable");
  }
  return name;
}

std::string copies_part(const NodeFindings& findings) {
  if (!findings.copies) return "";
  std::string text =
      "\n## Copies\n\n| copies | at once | latency | bandwidth of one | worst error of the fit "
      "|\n|---|--:|--:|--:|--:|\n";
  for (const calibration::CopySeries& series : findings.copies->series) {
    text += fmt::format("| {} | {} ", copy_name(series), series.copies_at_once);
    try {
      const calibration::CopyFit fit = calibration::fit_copies(series);
      text += fmt::format("| {:.2f} us | {:.2f} GB/s | {:.1f} % |\n", 1e6 * fit.latency.count(),
                          1e-9 * fit.bandwidth.count(), 100 * fit.error_max);
    } catch (const SimulationError& error) {
      text += fmt::format("| {} | | |\n", markdown_name(error.what()));
    }
  }
  return text;
}

std::string host_part(const NodeFindings& findings) {
  if (!findings.host) return "";
  return fmt::format(
      "\n## Host\n\nOperators of PyTorch take {:.2f} times what they took on the host of an H200 "
      "({} medians). For profiles counted from a model on this host:\n\n    host_time: {:.0f} %   "
      "# some 15 % remain\n",
      findings.host->chain, findings.host->operators, 100 * findings.host->host_time);
}

std::string overlap_part(const NodeFindings& findings) {
  if (!findings.overlap) return "";
  std::string text = fmt::format(
      "\n## Overlap\n\nSlowdown of compute, and of what communicates ({}), on so many blocks; "
      "profiles take those beside {}.\n\n| kind | blocks | compute | communication "
      "|\n|---|--:|--:|--:|\n",
      markdown_name(findings.overlap->communication), findings.overlap_ctas);
  for (const calibration::OverlapSeries& series : findings.overlap->series) {
    for (const calibration::OverlapRow& row : series.rows) {
      text += fmt::format("| {} | {} | {:.3f} | {:.3f} |\n", markdown_name(series.kind), row.ctas,
                          row.compute, row.communication);
    }
  }
  return text;
}

std::string compressors_part(const NodeFindings& findings) {
  std::string text;
  for (const CompressorFile& file : findings.compressors) {
    text += fmt::format(
        "\n## Compressors ({}.yaml)\n\n| compressor | settings | elements | encode | decode "
        "|\n|---|---|--:|--:|--:|\n",
        file.name);
    for (const calibration::CompressorSeries& series : file.bench.series) {
      for (const auto* row : {&series.rows.front(), &series.rows.back()}) {
        text += fmt::format("| {} | {} | {} | {:.1f} us | {:.1f} us |\n",
                            markdown_name(series.compressor), markdown_name(series.settings),
                            row->elements, 1e6 * row->encode.count(), 1e6 * row->decode.count());
      }
    }
  }
  return text;
}

}  // namespace

std::string node_report(const NodeFindings& findings, int folds) {
  std::string text = "# A calibrated node\n\nMade by `gradwire calibrate fit`.\n\n" +
                     recordings_part(findings) + collectives_part(findings, folds) +
                     copies_part(findings) + host_part(findings) + overlap_part(findings) +
                     compressors_part(findings);
  for (const Picture& picture : node_pictures(findings)) {
    text += fmt::format("\n![{}]({})\n", markdown_name(picture.name), url_path(picture.name));
  }
  if (findings.notes.empty()) return text;
  text += "\n## Notes\n\n";
  for (const std::string& note : findings.notes) text += "- " + markdown_name(note) + "\n";
  return text;
}

}  // namespace gradwire::cli
