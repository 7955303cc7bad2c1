#include "sim/config/cluster/world_sizes.hpp"

#include "sim/config/scenario.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

/// Three machines of 2 GPUs.
constexpr const char* head =
    "schema: gradwire.scenario/1\n"
    "profile: tiny/small-gpu_fp32_b4\n"
    "cluster: {node: pair, nodes: 3, fabric: {kind: single_switch, link: ib_edr, links_per_node: "
    "1}}\n"
    "strategy: {name: ddp, bucket_cap: 1 MiB}\n";

struct Job {
  std::string label;
  std::string strategy;
  std::size_t ranks = 0;
  bool operator==(const Job&) const = default;
};

std::vector<Job> jobs_of(const std::string& file) {
  std::vector<Job> jobs;
  for (const auto& scenario : read_scenario(file, {})) {
    jobs.push_back({scenario.label, scenario.strategy_name, scenario.placement.size()});
  }
  return jobs;
}

}  // namespace

TEST_CASE_METHOD(ConfigFixture, "One key sweeps world sizes as PyTorch's DDP benchmark does",
                 "[config][world_sizes]") {
  // sweep(): no wrapper, then GPUs of one machine, then whole machines.
  CHECK(jobs_of(write(std::string(head) + "points: {world_sizes: auto}\n")) ==
        std::vector<Job>{{"no ddp", "none", 1},
                         {"1M/1G", "ddp", 1},
                         {"1M/2G", "ddp", 2},
                         {"2M/2G", "ddp", 4},
                         {"3M/2G", "ddp", 6}});
  CHECK(jobs_of(write(std::string(head) + "points: {world_sizes: [2, 6]}\n")) ==
        std::vector<Job>{{"no ddp", "none", 1}, {"1M/2G", "ddp", 2}, {"3M/2G", "ddp", 6}});
}

TEST_CASE_METHOD(ConfigFixture, "A world size that the machines cannot make is refused",
                 "[config][world_sizes]") {
  const auto message = [&](const std::string& sizes) {
    const std::string file = write(std::string(head) + "points: {world_sizes: " + sizes + "}\n");
    return test::refusal_of([&] { return read_scenario(file, {}); }).substr(6);
  };
  CHECK(message("[3]") ==
        ":5:24: 3 GPUs are not whole machines; expected at most 2, or a multiple of it up to 6");
  CHECK(message("[8]") ==
        ":5:24: 'world_sizes' is '8'; expected a whole number, at least 1, at most 6");
  CHECK(message("all") ==
        ":5:23: 'world_sizes' is 'all'; expected auto, or a list of numbers of GPUs");
}
