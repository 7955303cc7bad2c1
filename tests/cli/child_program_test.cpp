#include "sim/cli/child_program.hpp"

#include "tests/catch.hpp"

namespace gradwire::cli {
namespace {

TEST_CASE("A program reads what it is given and no shell reads its words", "[cli][child]") {
  // More than a pipe holds, both ways.
  const std::string much(1'000'000, 'x');
  const ProgramOutput copied = run_with_input({"cat"}, much);
  CHECK(copied.code == 0);
  CHECK(copied.text == much);
  CHECK(run_with_input({"printf", "%s", "'; $(id) `id` \\"}, "").text == "'; $(id) `id` \\");
  CHECK(run_with_input({"false"}, much).code == 1);
  CHECK(run_with_input({"no-such-program-of-ours"}, "").code == cannot_run);
}

TEST_CASE("A program's end is its code, or the signal that ended it as a shell counts",
          "[cli][child]") {
  CHECK(run_program({"sh", "-c", "exit $OF_OURS"}, {{"OF_OURS", "7"}}) == 7);
  CHECK(run_program({"/bin/sh", "-c", "kill -KILL $$"}, {}) == 128 + 9);
  CHECK(run_program({"no-such-program-of-ours"}, {}) == cannot_run);
  CHECK(run_program({"./no-such-program-of-ours"}, {}) == cannot_run);
}

}  // namespace
}  // namespace gradwire::cli
