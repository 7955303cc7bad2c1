#include "calibration/import/compressed_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::size_t text_max = 0xFFFF'0000;  // what our JSON reader can index
constexpr std::size_t expansion_max = 1032;    // of deflate, to one (zlib's technical notes)
constexpr std::size_t step = std::size_t{1} << 20U;

/// Length of the text, as the file itself tells it: a wrong one only costs time.
std::size_t length_hint(const std::string& file) {
  std::error_code error;
  const std::size_t length = std::filesystem::file_size(file, error);
  if (error) return 0;
  std::ifstream in(file, std::ios::binary);
  std::array<unsigned char, 4> bytes{};
  const auto read = [&] {
    in.read(reinterpret_cast<char*>(bytes.data()), bytes.size());  // NOLINT: bytes of a file
    return in.good();
  };
  constexpr unsigned char magic_1 = 0x1f;
  constexpr unsigned char magic_2 = 0x8b;
  if (!read() || bytes[0] != magic_1 || bytes[1] != magic_2) return std::min(length, text_max);
  // RFC 1952: the last four bytes are the length modulo 2^32, least significant first.
  in.seekg(-4, std::ios::end);
  if (!read()) return 0;
  std::size_t told = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) told = told << 8U | bytes[i];
  return std::min({told, length * expansion_max, text_max});
}

}  // namespace

std::string read_compressed(const std::string& file, const std::string& what, std::size_t padding) {
  const auto fail = [&](const std::string& why) {
    throw ConfigError({file, 0, 0}, why + "; expected " + what);
  };
  if (std::filesystem::is_directory(file)) fail_unreadable(file, what);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (in == nullptr) fail_unreadable(file, what);
  gzbuffer(in.get(), step);
  std::string text;
  // One step more than the text, so that its end is seen without growing.
  text.reserve(length_hint(file) + step + padding);
  for (;;) {
    const std::size_t length = text.size();
    text.resize(length + step);
    const int got = gzread(in.get(), text.data() + length, step);
    if (got < 0)
      fail(fmt::format("the compressed data are damaged at byte {}", gzoffset(in.get())));
    text.resize(length + static_cast<std::size_t>(got));
    if (got == 0) break;
    if (text.size() > text_max) fail("the text is larger than 4 GB");
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
