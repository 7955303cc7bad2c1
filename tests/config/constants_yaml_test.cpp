#include "sim/config/collective/constants_yaml.hpp"

#include <array>
#include <string>

#include "sim/config/collective/constant_sets.hpp"
#include "sim/config/collective/nccl_constants_yaml.hpp"
#include "tests/catch.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

std::string gloo(const std::string& constants) {
  return "schema: gradwire.constants/1\nset: gloo\nof: Gloo\n"
         "sources: {guess: {kind: assumed, text: none}}\nconstants:\n" +
         constants;
}

constexpr const char* step = "  step: {value: 20, unit: us, source: guess}\n";
constexpr const char* others =
    "  worker_threads: {value: 2, source: guess}\n"
    "  segment_max: {value: 1, unit: MiB, source: guess}\n"
    "  loopback: {value: 3, unit: GB/s, source: guess}\n";

std::string error_of(const std::string& text) {
  return test::refusal_of([&] { return read_constants(parse_yaml(text, "x.yaml")); });
}

}  // namespace

TEST_CASE("A file of constants says what each is, in which unit and whence", "[config]") {
  const YamlValue document = parse_yaml(gloo(std::string(step) + others), "x");
  const Constants constants = read_constants(document);
  CHECK(constants.of() == "Gloo");
  REQUIRE(constants.stated().size() == 4);
  CHECK(constants.stated()[0].name == "step");
  CHECK(constants.stated()[0].value == "20");
  CHECK(constants.stated()[0].unit == "us");
  CHECK(constants.stated()[0].source.kind == "assumed");
}

TEST_CASE("Mistakes in a file of constants are refused where they stand", "[config]") {
  CHECK(error_of(gloo(others)) == "x.yaml:1:1: constant 'step' is missing");
  CHECK(error_of(gloo("  stepp: {value: 20, unit: us, source: guess}\n" + std::string(others))) ==
        "x.yaml:1:1: constant 'step' is missing; did you mean 'stepp'?");
  CHECK(error_of(gloo("  hop: {value: 1, source: guess}\n" + std::string(step) + others)) ==
        "x.yaml:6:8: there is no constant 'hop' in set 'gloo'");
  CHECK(error_of(gloo("  step: {value: 20, unit: ms, source: guess}\n" + std::string(others))) ==
        "x.yaml:6:9: 'step' has unit 'ms'; expected 'us'");
  CHECK(error_of(gloo("  step: {value: 20, unit: us, source: gues}\n" + std::string(others))) ==
        "x.yaml:6:39: 'source' is 'gues'; expected guess; did you mean 'guess'?");
  CHECK(error_of(gloo("  step: {value: -1, unit: us, source: guess}\n" + std::string(others)))
            .starts_with("x.yaml:6:17: 'step' is '-1 us'"));
  CHECK(error_of("schema: gradwire.constants/1\nset: glo\nof: Gloo\n") ==
        "x.yaml:2:6: 'set' is 'glo'; expected one of nccl, nccl_release, nccl_generation, mpi, "
        "gloo, cpu, offload, kernels, memory, profile_errors, doubts, tensorflow_servers, "
        "sharding_hooks; did you mean 'gloo'?");
  CHECK(error_of("schema: gradwire.constants/1\nset: gloo\nof: Gloo\nlike: gloo\nsources:\n"
                 "  fit: {kind: fitted, text: none}\nconstants: {}\n") ==
        "x.yaml:6:8: missing key 'rows'; expected a mapping");
}

TEST_CASE("A list of constants has as many numbers as its table", "[config]") {
  const YamlValue document = parse_yaml(
      "schema: gradwire.constants/1\nset: nccl_release\nof: NCCL\nsources: {a: {kind: read, text: "
      "b}}\nconstants: {tree_base: {value: [1, 2], unit: us, source: a}}\n",
      "x.yaml");
  Constants constants(document);
  std::array<double, 3> base{};
  CHECK_THROWS_WITH(constants.read("tree_base", "us", base),
                    "x.yaml:5:32: 'tree_base' is a list of 2; expected a list of 3");
}

TEST_CASE("A release of NCCL states what differs from the one that it is like", "[config]") {
  // NCCL 2.22's source is 2.21's, and 2.21's has LL at half the bus where 2.20's has a quarter.
  CHECK(shipped_nccl({2, 22}).ring_ll == 0.5);
  CHECK(shipped_nccl({2, 20}).ring_ll == 0.25);
  CHECK(shipped_nccl({2, 22}).ring_base == shipped_nccl({2, 20}).ring_base);
}

TEST_CASE("Constants are read for the generations of GPUs that are there", "[config]") {
  const NcclConstants constants = shipped_nccl({2, 28}, {70});
  CHECK(constants.generation(70).ll_base > 0);
  CHECK(constants.generation(90).ll_base == 0);
}
