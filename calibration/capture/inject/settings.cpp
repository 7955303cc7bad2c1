#include "calibration/capture/inject/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace gradwire::calibration {
namespace {

/// The variables in which a launcher gives a process its place, and the number of them all.
struct Launcher {
  const char* rank;
  std::array<const char*, 2> world_sizes;  ///< the first that is set; null: none more
};
/// torchrun; Open MPI; Hydra's and Intel's PMI; PALS, whose size is PMI's; Slurm, whose step may be
/// smaller than its job; PMIx, which gives no size. PMIx last: Open MPI and Slurm set it too.
constexpr std::array<Launcher, 6> launchers{
    {{"RANK", {"WORLD_SIZE", nullptr}},
     {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE", nullptr}},
     {"PMI_RANK", {"PMI_SIZE", nullptr}},
     {"PALS_RANKID", {"PMI_SIZE", "PALS_SIZE"}},
     {"SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
     {"PMIX_RANK", {nullptr, nullptr}}}};

template <class Number>
bool parse(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc{} && rest == end && value >= 0;
}

/// A count of bytes: 67108864, 64M, 1G.
bool parse_bytes(std::string_view text, std::size_t& bytes) {
  std::size_t factor = 1;
  if (!text.empty() && (text.back() == 'M' || text.back() == 'G')) {
    factor = text.back() == 'M' ? std::size_t{1} << 20U : std::size_t{1} << 30U;
    text.remove_suffix(1);
  }
  constexpr std::size_t count_max = std::size_t{1} << 32U;
  if (!parse(text, bytes) || bytes > count_max) return false;
  bytes *= factor;
  return true;
}

/// Reads variables, and keeps the first complaint.
class Reader {
 public:
  Reader(const Environment& environment, std::string& error)
      : environment_(&environment), error_(&error) {}

  [[nodiscard]] const char* get(const char* name) const {
    const char* value = (*environment_)(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  template <class Parse>
  void read(const char* name, const char* expected, const Parse& parse_value) const {
    const char* value = get(name);
    if (value == nullptr || parse_value(std::string_view(value)) || !error_->empty()) return;
    *error_ = std::string(name) + "='" + value + "' is not understood; expected " + expected;
  }
  void complain(const std::string& text) const {
    if (error_->empty()) *error_ = text;
  }
  void number(const char* name, std::size_t& value) const {
    read(name, "a count", [&](std::string_view text) { return parse(text, value); });
  }
  void number(const char* name, int& value) const {
    read(name, "a count", [&](std::string_view text) { return parse(text, value); });
  }

 private:
  const Environment* environment_;
  std::string* error_;
};

void read_world_size(const Reader& reader, const Launcher& launcher, Settings& settings) {
  for (const char* variable : launcher.world_sizes) {
    if (variable == nullptr || reader.get(variable) == nullptr) continue;
    reader.number(variable, settings.world_size);
    if (settings.rank >= settings.world_size) {
      reader.complain(std::string(launcher.rank) + "=" + std::to_string(settings.rank) +
                      " is no rank of " + variable + "=" + std::to_string(settings.world_size) +
                      "; expected a rank below the number of them");
    }
    return;
  }
}

void read_rank(const Reader& reader, Settings& settings) {
  const char* from = reader.get("GRADWIRE_RANK_FROM");
  if (from != nullptr && std::strcmp(from, "pid") == 0) return;
  const auto* const launcher =
      std::find_if(launchers.begin(), launchers.end(), [&](const Launcher& each) {
        return from != nullptr ? std::strcmp(from, each.rank) == 0
                               : reader.get(each.rank) != nullptr;
      });
  if (launcher != launchers.end()) from = launcher->rank;
  if (from == nullptr) return;
  settings.rank_from = from;
  reader.number(from, settings.rank);
  // Whoever has a rank has those below it beside him.
  settings.world_size = settings.rank + 1;
  if (launcher != launchers.end()) read_world_size(reader, *launcher, settings);
}

}  // namespace

const char* name_of(RecordMode mode) {
  return mode == RecordMode::light ? "light" : "full";
}

Settings read_settings(const Environment& environment, std::string& error) {
  Settings settings;
  const Reader reader(environment, error);
  if (const char* folder = reader.get("GRADWIRE_OUT")) settings.folder = folder;
  reader.read("GRADWIRE_MODE", "light or full", [&](std::string_view text) {
    settings.mode = text == "light" ? RecordMode::light : RecordMode::full;
    return text == "light" || text == "full";
  });
  read_rank(reader, settings);
  reader.number("GRADWIRE_SKIP_ITERS", settings.skip_iterations);
  reader.number("GRADWIRE_ITERS", settings.iterations);
  reader.read("GRADWIRE_MEMORY", "bytes, as 268435456, 256M or 1G",
              [&](std::string_view text) { return parse_bytes(text, settings.memory_bytes); });
  reader.read("GRADWIRE_FILE_SIZE", "bytes, as 4294967296, 512M or 4G",
              [&](std::string_view text) { return parse_bytes(text, settings.file_bytes_max); });
  reader.read("GRADWIRE_COMMAND_LINE", "0 or 1", [&](std::string_view text) {
    settings.command_line = text == "1";
    return text == "0" || text == "1";
  });
  return settings;
}

}  // namespace gradwire::calibration
