#include <cstdlib>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

/// The exit code of `gradwire ARGUMENTS`, which may redirect the program's streams.
int code_of(const Workplace& place, const std::string& arguments) {
  (void)place.run(arguments + "; echo $? > code; true");
  return std::stoi(place.text("code"));
}

TEST_CASE("The exit code is the same where standard error cannot be written", "[cli][messages]") {
  const Workplace place("no_stderr");
  place.write("good.yaml", scenario());
  place.write("bad.yaml", scenario("bukcet: 1\n"));
  // Full, closed, and closed with the others.
  const std::string where = GENERATE("2> /dev/full", "2>&-", "0<&- > out 2>&-");
  INFO(where);
  CHECK(code_of(place, "check bad.yaml " + where) == 3);
  CHECK(code_of(place, "chekc " + where) == 2);
  CHECK(code_of(place, "run missing.yaml " + where) == 3);
  CHECK(code_of(place, "run good.yaml --json no/r.json " + where) == 2);
  CHECK(code_of(place, "run good.yaml --json r.json " + where) == 0);
  CHECK_FALSE(place.text("r.json").empty());
  // With notes on standard error, after success.
  place.write("two.txt",
              "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV6\t0-19\nGPU1\tNV6\t X \t0-19\n");
  CHECK(code_of(place, "import smi-topo two.txt --gpu v100 -o node.yaml " + where) == 0);
}

TEST_CASE("A pipe of messages that nobody reads does not end the program", "[cli][messages]") {
  const Workplace place("no_reader");
  place.write("bad.yaml", scenario("bukcet: 1\n"));
  (void)place.run("check bad.yaml > out; echo $? > code; } 2>&1 | true; true", "{ sleep 0.3;");
  CHECK(place.text("code") == "3\n");
}

TEST_CASE("Results that cannot be printed end with 1 and a message", "[cli][messages]") {
  const Workplace place("no_stdout");
  place.write("good.yaml", scenario());
  const std::string where = GENERATE("> /dev/full", ">&-");
  for (const std::string command : {"run good.yaml", "--help", "list gpus", "--version"}) {
    INFO(command << " " << where);
    CHECK(code_of(place, command + " " + where + " 2> err") == 1);
    CHECK_THAT(place.text("err"), Catch::StartsWith("gradwire: cannot write standard output: "));
  }
  // What prints nothing has nothing to complain of.
  CHECK(code_of(place, "check good.yaml " + where) == 0);
}

TEST_CASE("A file does not take the place of a stream that was closed", "[cli][messages]") {
  const Workplace place("closed");
  place.write("good.yaml", scenario());
  CHECK(code_of(place, "run good.yaml --json r.json >&- 2>&-") == 1);
  CHECK(place.text("r.json").starts_with("{"));
  CHECK(code_of(place, "run good.yaml --json r.json 2>&- 0<&-") == 0);
  CHECK(place.text("r.json").starts_with("{"));
}

TEST_CASE("Names of a scenario do not command a terminal, and stay on their line",
          "[cli][messages]") {
  const Workplace place("escapes");
  std::string text = scenario("vary: {run.seed: [1, 2]}\n");
  text.replace(text.find("name: test"), 10, "name: \"a\\e]0;owned\\a\\nWarning: b\"");
  place.write("job.yaml", text);
  const auto is_plain = [](const std::string& printed) {
    return printed.find_first_of("\x1b\x07") == std::string::npos;
  };
  for (const std::string command : {"run job.yaml", "sweep job.yaml", "show plan job.yaml"}) {
    INFO(command);
    const auto run = place.run(command);
    CHECK(is_plain(run.out + run.err));
    CHECK(run.out.find("\nWarning: b") == std::string::npos);
  }
  place.write("key.yaml", scenario("\"x\\e[2J\\ny\": 1\n"));
  const auto refused = place.run("run key.yaml");
  CHECK(refused.code == 3);
  CHECK(is_plain(refused.err));
  CHECK_THAT(refused.err, Catch::ContainsSubstring("control character U+001B"));
  const auto option = place.run("run job.yaml --point \"$(printf 'a\\033[2J')\"");
  CHECK(is_plain(option.err));
}

TEST_CASE("The drawing of a topology runs no shell and obeys no name", "[cli][messages]") {
  const Workplace place("drawing");
  if (std::system("command -v dot > /dev/null") != 0) {
    WARN("Graphviz is not installed: nothing is drawn");
    return;
  }
  place.write("m.txt", "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tPIX\t0-19\nmlx5_0\tPIX\t X \n");
  REQUIRE(place.run("import smi-topo m.txt --gpu v100 -o node.yaml").code == 0);
  std::string node = place.text("node.yaml");
  // A name that ends in a backslash, and one that would be a link.
  const std::string evil = R"("x\" URL=\"javascript:alert(1)\" label=\"\\")";
  const std::size_t name = node.find("name: ");
  node.replace(name, node.find('\n', name) - name, "name: " + evil);
  place.write("node.yaml", node);
  const auto run =
      place.run("show topology node.yaml --svg t.svg", "TMPDIR=\"/nowhere'; touch owned; '\"");
  CHECK(run.err.empty());
  CHECK(run.code == 0);
  const std::string svg = place.text("t.svg");
  CHECK_THAT(svg, Catch::ContainsSubstring("javascript:alert(1)"));
  CHECK(svg.find("xlink:href") == std::string::npos);
  CHECK_FALSE(place.has("owned"));
}

TEST_CASE("A profile's name climbs out of no folder", "[cli][messages]") {
  const Workplace place("names");
  const auto climbing = place.run("show profile ../../scenarios/quickstart");
  CHECK(climbing.code == 3);
}

}  // namespace
}  // namespace gradwire
