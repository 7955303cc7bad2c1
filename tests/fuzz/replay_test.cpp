// Every reader takes its corpus and damaged copies of it, as libFuzzer's targets do without end.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/random.hpp"
#include "tests/catch.hpp"
#include "tests/fuzz/readers.hpp"
#include "tests/sanitized.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t corpus_bytes_max = 4096;  // of a file: what is kept is small
constexpr int copies = 60;                      // damaged, of each file
/// Any input below 1 MB ends within 2 s (docs/input_budgets.md).
constexpr std::chrono::seconds longest{2};

fs::path folder() {
  return fs::path(GRADWIRE_SOURCE_DIR) / "tests" / "fuzz";
}

std::vector<fs::path> corpus_of(std::string_view reader) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder() / "corpus" / reader)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One of the first `count` numbers, the same on every machine.
std::size_t draw(std::uint64_t seed, std::uint64_t which, std::size_t count) {
  return static_cast<std::size_t>(uniform(seed, which, 0, 0) * static_cast<double>(count));
}

/// Cut off, a stretch written twice or left out, or three bytes changed.
std::string damaged(std::string bytes, std::uint64_t seed) {
  const std::size_t from = draw(seed, 1, bytes.size());
  const std::size_t length = 1 + draw(seed, 2, std::min<std::size_t>(40, bytes.size() - from));
  switch (draw(seed, 0, 5)) {
    case 0:
      return bytes.substr(0, from);
    case 1:
      return bytes.insert(from, bytes.substr(from, length));
    case 2:
      return bytes.erase(from, length);
    default:
      for (std::uint64_t i = 0; i < 3; ++i) {
        bytes[draw(seed, 10 + i, bytes.size())] = static_cast<char>(draw(seed, 20 + i, 256));
      }
      return bytes;
  }
}

void check_time(const Reader& reader, const std::string& bytes) {
  const auto begin = std::chrono::steady_clock::now();
  CHECK_NOTHROW(accepts(reader, bytes));
  if (!sanitized) CHECK(std::chrono::steady_clock::now() - begin < longest);
}

}  // namespace

TEST_CASE("Every reader takes a file of its corpus, and has a dictionary", "[fuzz]") {
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    CHECK(fs::exists(folder() / "dictionaries" / fmt::format("{}.dict", reader.name)));
    const auto files = corpus_of(reader.name);
    CHECK(std::ranges::any_of(
        files, [&](const fs::path& file) { return accepts(reader, bytes_of(file)); }));
    CHECK(std::ranges::all_of(
        files, [](const fs::path& file) { return fs::file_size(file) <= corpus_bytes_max; }));
  }
}

TEST_CASE("Every reader refuses damaged files in words and in time, or reads them", "[fuzz]") {
  std::uint64_t seed = 0;
  for (const Reader& reader : readers()) {
    for (const fs::path& file : corpus_of(reader.name)) {
      CAPTURE(file.string(), seed);
      const std::string bytes = bytes_of(file);
      check_time(reader, bytes);
      for (int i = 0; i < copies && !bytes.empty(); ++i) {
        check_time(reader, damaged(bytes, ++seed));
      }
    }
  }
}

TEST_CASE("Only the error of bad input is no finding", "[fuzz]") {
  const Reader refusing{"", [](const std::string&) { throw ConfigError({"f", 1, 1}, "no"); }};
  CHECK_FALSE(accepts(refusing, ""));
  const Reader greedy{"", [](const std::string&) { throw std::bad_alloc(); }};
  CHECK_THROWS_AS(accepts(greedy, ""), std::bad_alloc);
}

}  // namespace gradwire::fuzz
