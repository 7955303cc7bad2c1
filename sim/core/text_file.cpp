#include "sim/core/text_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire {

std::string file_suggestion(const std::string& path) {
  std::vector<std::string> stems;
  std::error_code error;
  const std::filesystem::path wanted(path);
  const auto folder = wanted.has_parent_path() ? wanted.parent_path() : std::filesystem::path(".");
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto& found = entry->path();
    if (entry->is_regular_file(error) && found.extension() == wanted.extension()) {
      stems.push_back(found.stem().string());
    }
  }
  std::ranges::sort(stems);
  const std::string nearest = nearest_name(wanted.stem().string(), stems);
  return nearest.empty() ? "" : "; did you mean '" + nearest + wanted.extension().string() + "'?";
}

void fail_unreadable(const std::string& path, const std::string& what) {
  throw ConfigError({path, 1, 1}, "cannot be read; expected " + what + file_suggestion(path));
}

std::string read_text_file(const std::string& path, const std::string& what) {
  std::ifstream file;
  if (!std::filesystem::is_directory(path)) file.open(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) fail_unreadable(path, what);
  return text;
}

}  // namespace gradwire
