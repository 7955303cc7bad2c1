#include "calibration/import/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "calibration/import/record_chunks.hpp"
#include "calibration/import/recording_builder.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

/// What follows `part` in `text`; empty where it does not occur.
std::string_view value_after(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + part.size());
}

}  // namespace

OperatorName split_operator_name(std::string_view text) {
  static constexpr std::array<std::string_view, 4> parts{
      ", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
  const std::string_view sequence = value_after(text, parts[0]);
  OperatorName name{text};
  for (const std::string_view part : parts) name.name = name.name.substr(0, text.find(part));
  std::from_chars(sequence.data(), sequence.data() + sequence.size(), name.sequence);
  name.shapes = value_after(text, parts[2]);
  name.shapes = name.shapes.substr(0, name.shapes.find(parts[3]));
  return name;
}

Recording read_recording(const std::string& file) {
  RecordingBuilder builder;
  const bool cut_off =
      read_chunks(file, [&](const ChunkRecord& record) { builder.add(record, file); });
  return builder.finish(cut_off, file);
}

std::vector<std::string> recording_files(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".gwr") files.push_back(entry.path().string());
  }
  if (failure) {
    throw ConfigError({folder, 0, 0}, fmt::format("cannot be read: {}; expected a folder of "
                                                  "recordings",
                                                  failure.message()));
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace gradwire::calibration
