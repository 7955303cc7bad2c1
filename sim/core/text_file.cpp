#include "sim/core/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "sim/core/error.hpp"

namespace gradwire {

std::string file_suggestion(const std::string& path) {
  std::vector<std::string> stems;
  std::error_code error;
  const std::filesystem::path wanted(path);
  const auto folder = wanted.has_parent_path() ? wanted.parent_path() : std::filesystem::path(".");
  const std::string yaml = wanted.stem().string() + ".yaml";
  if ((wanted.extension() == ".yml" || !wanted.has_extension()) &&
      std::filesystem::is_regular_file(folder / yaml, error)) {
    return "; did you mean '" + yaml + "'?";
  }
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
  std::error_code error;
  if (path == "-") {
    throw ConfigError({path, 1, 1},
                      "no such file; expected " + what + " ('/dev/stdin' is standard input)");
  }
  if (path.empty()) throw ConfigError({"''", 1, 1}, "no name of a file; expected " + what);
  const bool there = std::filesystem::exists(path, error);
  throw ConfigError({path, 1, 1}, "cannot be read; expected " + what +
                                      (there ? std::string() : file_suggestion(path)));
}

bool is_pipe(const std::string& path) {
  std::error_code error;
  return std::filesystem::status(path, error).type() == std::filesystem::file_type::fifo;
}

void require_file(const std::string& path, const std::string& what) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* kind) {
    throw ConfigError({path, 1, 1}, fmt::format("is {}; expected {}", kind, what));
  };
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::regular:
    case fs::file_type::fifo:
      return;
    case fs::file_type::directory:
      refuse("a folder");
      break;
    case fs::file_type::character:
    case fs::file_type::block:
      refuse("a device, not a file or a pipe");
      break;
    case fs::file_type::socket:
      refuse("a socket, not a file or a pipe");
      break;
    default:
      break;
  }
  fail_unreadable(path, what);
}

std::string read_bytes(const std::string& path, const std::string& what, const Budget& budget) {
  require_file(path, what);
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) fail_unreadable(path, what);
  std::string text;
  std::error_code error;
  const auto told = std::filesystem::file_size(path, error);  // of a pipe an error
  if (!error && told <= budget.most) text.reserve(told + 1);
  std::array<char, std::size_t{1} << 16U> piece;  // not cleared: longer than most files
  while (file) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > budget.most) {
      throw ConfigError({path, 1, 1}, fmt::format("{}; expected {}", over(budget), what));
    }
  }
  if (file.bad()) fail_unreadable(path, what);
  return text;
}

void require_plain(const std::string& text, const std::string& file, Controls allowed, int line,
                   int column) {
  const std::size_t at = first_bad_byte(text, allowed);
  if (at == std::string_view::npos) return;
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t offset = before == std::string::npos ? at : at - before - 1;
  const int first = lines == 0 ? column : 1;
  throw ConfigError({file, line + static_cast<int>(lines), first + static_cast<int>(offset)},
                    describe_bad_byte(text, at) + "; expected text in UTF-8");
}

std::string read_text_file(const std::string& path, const std::string& what, const Budget& budget,
                           Controls allowed) {
  std::string text = read_bytes(path, what, budget);
  require_plain(text, path, allowed);
  return text;
}

}  // namespace gradwire
