#include "sim/core/plain_text.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/text_file.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;

namespace {

constexpr auto none = std::string_view::npos;

}  // namespace

TEST_CASE("the first byte that is no UTF-8 is found", "[core][plain-text]") {
  CHECK(first_bad_byte("resnet50") == none);
  CHECK(first_bad_byte("Grad\xC3\xB6\xC3\x9F \xE2\x94\x9C \xF0\x9F\x98\x80") == none);
  CHECK(first_bad_byte("caf\xE9") == 3);           // Latin-1
  CHECK(first_bad_byte("a\xC3") == 1);             // cut off
  CHECK(first_bad_byte("\xC0\xAF") == 0);          // overlong '/'
  CHECK(first_bad_byte("ab\xED\xA0\x80") == 2);    // a surrogate
  CHECK(first_bad_byte("\xF4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(describe_bad_byte("caf\xE9", 3) == "the byte 0xE9, which is no UTF-8");
}

TEST_CASE("control characters are bad but for those that are allowed", "[core][plain-text]") {
  CHECK(first_bad_byte("a\tb") == 1);
  CHECK(first_bad_byte("a\tb\r\n", Controls::white_space) == none);
  CHECK(first_bad_byte("a\x1B[4m", Controls::white_space) == 1);
  CHECK(first_bad_byte("a\x1B[4m", Controls::terminal) == none);
  CHECK(first_bad_byte(std::string_view("a\0b", 3), Controls::terminal) == 1);
  CHECK(first_bad_byte("a\x7F") == 1);
  CHECK(first_bad_byte("a\xC2\x9B"
                       "b") == 1);  // C1's escape
  CHECK(describe_bad_byte("a\xC2\x9B", 1) == "the control character U+009B");
  CHECK(describe_bad_byte("\x1B", 0) == "the control character U+001B");
}

TEST_CASE("a message never carries a byte that a terminal must not get", "[core][plain-text]") {
  const ConfigError error({"f\x1B.yaml", 1, 2}, "'\x1B[2J' is no \xE9");
  CHECK(std::string(error.what()) == "f\\x1b.yaml:1:2: '\\x1b[2J' is no \\xe9");
}

TEST_CASE("a long quoted value is shortened, an apostrophe quotes nothing", "[core][plain-text]") {
  const std::string digits(100'000, '7');
  const ConfigError error({"s.yaml", 3, 4}, "'" + digits + "' is no number; expected PyTorch's");
  const std::string text = error.what();
  CHECK(text.size() < 400);
  CHECK(text.ends_with("777' is no number; expected PyTorch's"));
  CHECK_THAT(text, Catch::ContainsSubstring("...(100000 bytes)..."));
  const std::string list = "one of PyTorch's " + std::string(300, 'x') + " or Horovod's";
  CHECK(shortened(list) == list);
  CHECK(shortened(digits).size() < 4100);
  // Cut between characters, never inside one.
  std::string umlauts = "'";
  for (int i = 0; i < 500; ++i) umlauts += "\xC3\xB6";
  CHECK(first_bad_byte(shortened(umlauts + "'")) == none);
  CHECK(first_bad_byte(shortened("'x" + umlauts.substr(1) + "'")) == none);
}

TEST_CASE("a name that becomes a file's is no path", "[core][plain-text]") {
  for (const char* name : {"toy", "resnet50_fp32.b8", "a b",
                           "gr\xC3\xB6\xC3\x9F"
                           "e"}) {
    CHECK(is_file_name(name));
  }
  for (const char* name :
       {"", ".", "..", "../x", "a/b", "/etc", "a\\b", "-rf", " a", "a\nb", "caf\xE9"}) {
    CHECK_FALSE(is_file_name(name));
  }
  CHECK_FALSE(is_file_name(std::string(201, 'a')));
}

TEST_CASE("a word of ten million letters is near to no name, at once", "[core][error]") {
  const std::vector<std::string> known = {"ddp", "horovod", "byteps"};
  const std::string word(10'000'000, 'd');
  const auto begin = std::chrono::steady_clock::now();
  CHECK(nearest_name(word, known).empty());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}

TEST_CASE("only regular files and pipes are read", "[core][text-file]") {
  CHECK_THROWS_WITH(read_text_file("/dev/zero", "a log"),
                    "/dev/zero:1:1: is a device, not a file or a pipe; expected a log");
  CHECK_THROWS_WITH(read_text_file("/tmp", "a log"), "/tmp:1:1: is a folder; expected a log");
}

TEST_CASE("a file is refused at its first bad byte, or beyond its budget", "[core][text-file]") {
  const test::ScratchFolder folder;
  const std::string file = folder.write(
      "first\nse\xE9"
      "cond\n",
      "log.txt");
  CHECK_THROWS_WITH(read_text_file(file, "a log"),
                    file + ":2:3: the byte 0xE9, which is no UTF-8; expected text in UTF-8");
  constexpr Budget small{"small", 4, "bytes", "a test"};
  CHECK_THROWS_WITH(read_bytes(file, "a log", small),
                    file + ":1:1: more than 4 bytes (limit small: a test); expected a log");
}
