#include "calibration/import/compressed_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t step = std::size_t{1} << 20U;

/// What the file is, without opening a pipe, which can be read once.
struct FileFacts {
  std::size_t length = 0;  ///< 0: not known
  bool gzip = true;        ///< not known: the narrower budgets
};

FileFacts facts_of(const std::string& file) {
  std::error_code error;
  const std::size_t length = std::filesystem::file_size(file, error);
  if (error) return {};
  std::ifstream in(file, std::ios::binary);
  std::array<unsigned char, 2> bytes{};
  in.read(reinterpret_cast<char*>(bytes.data()), bytes.size());  // NOLINT: bytes of a file
  constexpr unsigned char magic_1 = 0x1f;
  constexpr unsigned char magic_2 = 0x8b;
  return {length, in.good() && bytes[0] == magic_1 && bytes[1] == magic_2};
}

/// The budget that so much text exceeds, nullptr where it does not.
const Budget* exceeded(const FileFacts& facts, std::size_t text) {
  if (!facts.gzip) return text > trace_bytes.most ? &trace_bytes : nullptr;
  if (text > unzipped_bytes.most) return &unzipped_bytes;
  const bool all_known = facts.length > 0 && text > step;
  return all_known && text > unzipped_ratio.most * facts.length ? &unzipped_ratio : nullptr;
}

}  // namespace

std::string read_compressed(const std::string& file, const std::string& what, std::size_t padding) {
  const auto fail = [&](const std::string& why) {
    throw ConfigError({file, 0, 0}, why + "; expected " + what);
  };
  require_file(file, what);
  const FileFacts facts = facts_of(file);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (in == nullptr) fail_unreadable(file, what);
  gzbuffer(in.get(), step);
  std::string text;
  // One step more than the text, so that its end is seen without growing.
  if (!facts.gzip && facts.length <= trace_bytes.most) text.reserve(facts.length + step + padding);
  for (;;) {
    const std::size_t length = text.size();
    text.resize(length + step);
    const int got = gzread(in.get(), text.data() + length, step);
    if (got < 0)
      fail(fmt::format("the compressed data are damaged at byte {}", gzoffset(in.get())));
    text.resize(length + static_cast<std::size_t>(got));
    if (got == 0) break;
    if (const Budget* budget = exceeded(facts, text.size())) {
      fail(over(*budget) + (facts.gzip ? "; gunzip it first" : ""));
    }
  }
  int code = Z_OK;
  gzerror(in.get(), &code);
  if (code != Z_OK) {
    fail(fmt::format("the compressed data break off at byte {}", gzoffset(in.get())));
  }
  text.reserve(text.size() + padding);
  return text;
}

}  // namespace gradwire::calibration
