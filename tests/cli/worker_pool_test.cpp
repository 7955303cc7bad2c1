#include "sim/cli/worker_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <stdexcept>

#include "sim/cli/signals.hpp"
#include "tests/catch.hpp"

namespace gradwire::cli {
namespace {

std::map<std::size_t, TaskOutcome> outcomes_of(
    std::size_t tasks, int workers, const std::function<std::string(std::size_t)>& task) {
  std::map<std::size_t, TaskOutcome> outcomes;
  run_in_workers(tasks, workers, task, [&](std::size_t index, const TaskOutcome& outcome) {
    CHECK(outcomes.emplace(index, outcome).second);
  });
  return outcomes;
}

TEST_CASE("Every task is answered once, whatever the number of workers", "[cli][pool]") {
  const int workers = GENERATE(1, 3, 50);
  const auto outcomes =
      outcomes_of(20, workers, [](std::size_t i) { return std::to_string(i * i); });
  REQUIRE(outcomes.size() == 20);
  for (const auto& [index, outcome] : outcomes) {
    CHECK(outcome.done);
    CHECK(outcome.text == std::to_string(index * index));
  }
}

TEST_CASE("No task, no worker", "[cli][pool]") {
  CHECK(outcomes_of(0, 4, [](std::size_t) { return ""; }).empty());
}

TEST_CASE("Long and empty answers arrive whole", "[cli][pool]") {
  // Longer than any socket buffer
  const auto outcomes = outcomes_of(
      4, 2, [](std::size_t i) { return i % 2 == 0 ? std::string() : std::string(5'000'000, 'x'); });
  for (const auto& [index, outcome] : outcomes) {
    CHECK(outcome.done);
    CHECK(outcome.text.size() == (index % 2 == 0 ? 0 : 5'000'000));
  }
}

TEST_CASE("A task that throws, crashes, leaves or is killed costs only its own outcome",
          "[cli][pool]") {
  const int workers = GENERATE(1, 2);
  const auto outcomes = outcomes_of(8, workers, [](std::size_t i) -> std::string {
    if (i == 1) throw std::runtime_error("no way");
    if (i == 2) std::raise(SIGKILL);
    if (i == 4) _exit(7);
    if (i == 7) {
      std::signal(SIGABRT, SIG_DFL);
      std::raise(SIGABRT);
    }
    return "fine";
  });
  REQUIRE(outcomes.size() == 8);
  const std::map<std::size_t, std::string> expected = {
      {1, "no way"},
      {2, "the worker was ended by signal 9 (Killed)"},
      {4, "the worker ended with code 7"},
      {7, "the worker was ended by signal 6 (Aborted)"}};
  for (const auto& [index, outcome] : outcomes) {
    const auto bad = expected.find(index);
    CHECK(outcome.done == (bad == expected.end()));
    CHECK(outcome.text == (bad == expected.end() ? "fine" : bad->second));
  }
}

TEST_CASE("Tasks see what was loaded before and nothing of each other", "[cli][pool]") {
  std::string loaded = "a table";
  const auto outcomes = outcomes_of(3, 1, [&](std::size_t) { return loaded += "!"; });
  for (const auto& [index, outcome] : outcomes) CHECK(outcome.text == "a table!");
  CHECK(loaded == "a table");
}

TEST_CASE("An interrupt ends the workers and the pool", "[cli][pool]") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  const auto interrupted = [&] {
    run_in_workers(
        4, 2,
        [&](std::size_t index) -> std::string {
          if (index == 0) ::kill(::getppid(), signal);
          ::pause();
          return "";
        },
        [](std::size_t, const TaskOutcome&) {});
  };
  CHECK_THROWS_AS(interrupted(), Interrupted);
  // All children have been waited for.
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("An exception in the receiver ends the workers too", "[cli][pool]") {
  const auto thrown = [] {
    run_in_workers(
        6, 3, [](std::size_t) { return "x"; },
        [](std::size_t, const TaskOutcome&) { throw std::runtime_error("disk full"); });
  };
  CHECK_THROWS_WITH(thrown(), "disk full");
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

}  // namespace
}  // namespace gradwire::cli
