#include "calibration/capture/inject/settings.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace gradwire::calibration {
namespace {

/// The two variables in which a launcher gives a process its place.
struct Launcher {
  const char* rank;
  const char* world_size;
};
constexpr std::array<Launcher, 3> launchers{{{"RANK", "WORLD_SIZE"},
                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"SLURM_PROCID", "SLURM_NTASKS"}}};

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

void read_rank(const Reader& reader, Settings& settings) {
  const char* from = reader.get("GRADWIRE_RANK_FROM");
  for (const Launcher& launcher : launchers) {
    const bool chosen = from != nullptr ? std::strcmp(from, launcher.rank) == 0
                                        : reader.get(launcher.rank) != nullptr;
    if (!chosen) continue;
    reader.number(launcher.rank, settings.rank);
    reader.number(launcher.world_size, settings.world_size);
    return;
  }
  if (from != nullptr && std::strcmp(from, "pid") != 0) reader.number(from, settings.rank);
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
  return settings;
}

}  // namespace gradwire::calibration
