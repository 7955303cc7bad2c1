#include "sim/config/yaml/yaml_value.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sim/config/yaml/loaded_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;
using namespace gradwire::config;

TEST_CASE("each value knows its place, in block and in flow style", "[config][yaml]") {
  const YamlValue root = parse_yaml("a: 1\nb: {c: [x, y]}\n", "s.yaml");
  REQUIRE(root.find("b") != nullptr);
  const YamlValue* list = root.find("b")->find("c");
  REQUIRE(list != nullptr);
  CHECK(list->items[1].text == "y");
  CHECK(list->items[1].where.line == 2);
  CHECK(list->items[1].where.column == 12);  // b: {c: [x, y]}, the y
}

TEST_CASE("a key that stands twice is refused where it stands again", "[config][yaml]") {
  CHECK_THROWS_WITH(
      parse_yaml("run:\n  seed: 1\n  seed: 2\n", "s.yaml"),
      "s.yaml:3:3: duplicate key 'seed'; expected each key once, the first is at 2:3");
}

TEST_CASE("a syntax error has its place", "[config][yaml]") {
  CHECK_THROWS_WITH(parse_yaml("a: [1, 2\nb: 3\n", "s.yaml"),
                    "s.yaml:2:2: YAML syntax: a list in brackets is not closed by ']'; expected "
                    "well-formed YAML");
  CHECK_THROWS_WITH(parse_yaml("a: 1\n---\nb: 2\n", "s.yaml"),
                    "s.yaml:2:1: a second YAML document; expected one document a file");
  CHECK_THROWS_WITH(parse_yaml("[1, 2]: 3\n", "s.yaml"),
                    "s.yaml:1:1: a key that is a list; expected a name");
}

TEST_CASE("a syntax error is reported in words, where it is or where what has no end began",
          "[config][yaml]") {
  const auto [text, problem] = GENERATE(Catch::Generators::table<std::string, std::string>(
      {{"a: b: c\n", "1:5: YAML syntax: a ':' where no value can be"},
       {"a:\n\tb: 1\n", "2:1: YAML syntax: a tab indents the line, in the place of blanks"},
       {"a: 'b\nc: 1\n", "1:4: YAML syntax: a quoted text is not closed"},
       {"a: {b: 1\n", "1:4: YAML syntax: a mapping in braces is not closed by '}'"},
       {"a: *b\n", "1:4: YAML syntax: an alias whose anchor stands nowhere before"},
       {"a: * b\n", "1:5: YAML syntax: a '*' or '&' without the name of an anchor"},
       {"a: \"\\q\"\n", "1:5: YAML syntax: a '\\' before a character that YAML does not escape"},
       {"a: @b\n", "1:4: YAML syntax: a character that begins no value"},
       {"a: - b\n", "1:4: YAML syntax: a '-' where no list can be"},
       {"\u00fc: [1\n", "1:4: YAML syntax: a list in brackets is not closed by ']'"}}));
  CHECK_THROWS_WITH(parse_yaml(text, "s.yaml"),
                    "s.yaml:" + problem + "; expected well-formed YAML");
}

TEST_CASE("brackets without end are refused at the level that is too deep", "[config][yaml]") {
  CHECK_THROWS_WITH(parse_yaml(std::string(1'000'000, '['), "s.yaml"),
                    Catch::StartsWith("s.yaml:1:65: more than 64 levels (limit yaml_depth"));
}

TEST_CASE("a key that stands twice among many is found, too", "[config][yaml]") {
  std::string text;
  for (int i = 1; i <= 100; ++i) text += "k" + std::to_string(i) + ": 1\n";
  CHECK(parse_yaml(text, "s.yaml").entries.size() == 100);
  CHECK_THROWS_WITH(
      parse_yaml(text + "k50: 1\n", "s.yaml"),
      "s.yaml:101:1: duplicate key 'k50'; expected each key once, the first is at 50:1");
}

TEST_CASE("a byte order mark in front changes nothing, not even a column", "[config][yaml]") {
  const std::string marked = "\xEF\xBB\xBFone: 1\ntwo: 2\n";
  CHECK(to_text(parse_yaml(marked, "s.yaml")) == "{one: 1, two: 2}");
  CHECK_THROWS_WITH(parse_yaml(marked + "one: 3\n", "s.yaml"),
                    "s.yaml:3:1: duplicate key 'one'; expected each key once, the first is at 1:1");
}

TEST_CASE("what stands for nothing is empty, unless it is in quotes", "[config][yaml]") {
  const std::string word = GENERATE("", "~", "null", "Null", "NULL");
  CHECK(parse_yaml("a: " + word + "\n", "s.yaml").find("a")->kind == YamlValue::Kind::empty);
  CHECK(parse_yaml("a: '" + word + "'\n", "s.yaml").find("a")->kind == YamlValue::Kind::scalar);
}

TEST_CASE("a text with quotes or backslashes is written so that it reads the same",
          "[config][yaml]") {
  const std::string text = R"("say \"hi\", C:\\temp")";
  const YamlValue value = parse_yaml(text, "s.yaml");
  REQUIRE(value.text == R"(say "hi", C:\temp)");
  CHECK(to_text(value) == text);
}

TEST_CASE("a merge key is refused where it stands, a quoted one is a name", "[config][yaml]") {
  CHECK_THROWS_WITH(parse_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", "s.yaml"),
                    "s.yaml:2:5: a merge key '<<'; expected the keys themselves, or an alias in "
                    "the place of a whole value");
  CHECK(parse_yaml("\"<<\": 1\n", "s.yaml").find("<<") != nullptr);
}

TEST_CASE("a tag is refused where its value stands", "[config][yaml]") {
  CHECK_THROWS_WITH(parse_yaml("a: !!str 8\n", "s.yaml"),
                    "s.yaml:1:4: a YAML tag '!!str'; expected the value without one");
  CHECK_THROWS_WITH(parse_yaml("a: [1, !foo {b: 1}]\n", "s.yaml"),
                    "s.yaml:1:8: a YAML tag '!foo'; expected the value without one");
  CHECK_THROWS_WITH(parse_yaml("a: !!set [1]\n", "s.yaml"),
                    "s.yaml:1:4: a YAML tag '!!set'; expected the value without one");
  CHECK_THROWS_WITH(parse_yaml("a: ! 8\n", "s.yaml"),
                    "s.yaml:1:4: a YAML tag '!'; expected the value without one");
  CHECK_THROWS_WITH(parse_yaml("!key a: 8\n", "s.yaml"),
                    Catch::ContainsSubstring("a YAML tag '!key'"));
  CHECK(parse_yaml("a: '!foo'\n", "s.yaml").find("a")->text == "!foo");
}

TEST_CASE("an alias copies its anchor, but never itself and never without end", "[config][yaml]") {
  CHECK(to_text(parse_yaml("a: &x {b: 1}\nc: *x\n", "s.yaml")) == "{a: {b: 1}, c: {b: 1}}");
  CHECK_THROWS_WITH(parse_yaml("a: &x [*x]\n", "s.yaml"),
                    "s.yaml:1:8: an alias inside its own anchor; expected an earlier value");
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";  // 10^9 values in ten lines
  for (int i = 1; i < 9; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int k = 1; k < 10; ++k) bomb += ", " + alias;
    bomb += "]\n";
  }
  CHECK_THROWS_WITH(parse_yaml(bomb, "s.yaml"),
                    Catch::ContainsSubstring("more than 300000 values (limit yaml_values"));
}

TEST_CASE("a missing file is reported with the nearest name in its folder", "[config][yaml]") {
  const auto folder = std::filesystem::temp_directory_path() / "gradwire_yaml_value_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ddp_v100.yaml") << "a: 1\n";
  const std::string missing = (folder / "dpd_v100.yaml").string();
  CHECK_THROWS_WITH(load_yaml(missing), missing +
                                            ":1:1: cannot be read; expected a readable YAML "
                                            "file; did you mean 'ddp_v100.yaml'?");
  CHECK_THROWS_WITH(load_yaml("-"),
                    "-:1:1: no such file; expected a readable YAML file ('/dev/stdin' is standard "
                    "input)");
  const std::string ending = GENERATE("", ".yml");
  CHECK_THROWS_WITH(
      load_yaml((folder / "ddp_v100").string() + ending),
      Catch::EndsWith("expected a readable YAML file; did you mean 'ddp_v100.yaml'?"));
  CHECK_THROWS_AS(load_yaml(folder.string()), ConfigError);
  CHECK(load_yaml((folder / "ddp_v100.yaml").string()).find("a")->text == "1");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a pipe gives what it gave whenever it is asked again", "[config][yaml]") {
  namespace fs = std::filesystem;
  const fs::path pipe = fs::temp_directory_path() / ("gradwire_pipe." + std::to_string(getpid()));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { std::ofstream(pipe) << "a: 1\n"; });
  const YamlValue first = load_yaml(pipe.string());
  writer.join();
  CHECK(to_text(first) == "{a: 1}");
  CHECK(to_text(load_yaml(pipe.string())) == "{a: 1}");  // opened again, it would wait for a writer
  fs::remove(pipe);
}

namespace {

int times_read = 0;

std::string counted_text(const YamlValue& document) {
  ++times_read;
  return document.find("a")->text;
}

}  // namespace

TEST_CASE("what was made of a file stands as long as its text does", "[config][yaml]") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("a: 1\n", "f.yaml");
  times_read = 0;
  CHECK(read_once<counted_text>(file) == "1");
  CHECK(read_once<counted_text>(file) == "1");
  CHECK(times_read == 1);
  CHECK(folder.write("a: 2\n", "f.yaml") == file);
  CHECK(read_once<counted_text>(file) == "2");
  CHECK(times_read == 2);
}
