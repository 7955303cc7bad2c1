#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sanitized.hpp"

namespace gradwire {
namespace {

/// The most memory that `gradwire run r.yaml ARGUMENTS` has, in MiB.
double peak_of(const Workplace& place, const std::string& arguments) {
  const std::string command = "cd '" + place.path().string() +
                              "' && exec '" GRADWIRE_PROGRAM "' run r.yaml " + arguments +
                              " > .out 2> .err";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  REQUIRE(::wait4(pid, &status, 0, &used) == pid);
  CHECK(status == 0);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

TEST_CASE("Memory does not grow with iterations", "[cli][memory]") {
  if (sanitized) return;  // what is freed stays there
  const Workplace place("memory");
  place.write("r.yaml", scenario());
  const std::string strategy = GENERATE("wfbp", "bytescheduler");
  const std::string set = "--set strategy.name=" + strategy;
  const double few = peak_of(place, set + " --set run.iterations=20");
  const double many = peak_of(place, set + " --set run.iterations=1200");
  // 1180 more, of a few times 161 operations each: what an iteration had left behind was some 40
  // kB of wfbp, 46 MiB in all. What is left is the iterations' own figures, and what the allocator
  // keeps, which differs by some MiB from run to run.
  CHECK(many < few + 20);
}

TEST_CASE("Memory does not grow with the sizes that asynchronous workers send", "[cli][memory]") {
  if (sanitized) return;
  const Workplace place("memory");
  place.write("r.yaml", scenario());
  const std::string strategy = GENERATE("ps_async", "ssp");
  const std::string set = "--set strategy.name=" + strategy + " --set cluster.nodes=4";
  const double few = peak_of(place, set + " --set run.iterations=100");
  const double many = peak_of(place, set + " --set run.iterations=700");
  // What waits is sent together, so that hardly a size comes twice: kept for each, 600 iterations
  // left some 70 MiB behind.
  CHECK(many < few + 12);
}

}  // namespace
}  // namespace gradwire
