#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/laws/training_job.hpp"
#include "tests/laws/training_prediction.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;
using namespace gradwire::laws;

namespace {

/// Two rooms of machines, whose switches are joined by trunks.
struct Rooms {
  int machines = 2;  ///< in each room
  int cables = 2;
  double gbit = 50;       ///< of a cable, Gbit/s
  double latency_us = 2;  ///< of a cable
  std::string model = "resnet50";
  std::string strategy = "ddp";

  explicit Rooms(Draws& draws)
      : machines(draws.of<int>({1, 2, 3})),
        cables(draws.of<int>({1, 2, 4})),
        gbit(draws.of<double>({10, 25, 50, 90})),
        latency_us(draws.of<double>({0.5, 2, 20})),
        model(draws.of<std::string>({"resnet50", "vgg16", "bert_base"})),
        strategy(draws.of<std::string>({"ddp", "bsp", "horovod", "kungfu_sync", "byteps"})) {}

  /// @param trunks  between room0 and room1, perhaps over a switch `hall`.
  [[nodiscard]] std::string scenario(const test::ScratchFolder& folder, const std::string& name,
                                     const std::string& trunks) const {
    std::string nodes[2];
    for (int machine = 0; machine < 2 * machines; ++machine) {
      std::string& room = nodes[machine / machines];
      room += fmt::format("{}{}", room.empty() ? "" : ", ", machine);
    }
    const std::string file = folder.write(
        fmt::format("schema: gradwire.cluster_topology/1\nname: {}\nsource: made up\n"
                    "groups: [{{node: dgx1v, nodes: {}}}]\nlink: ib_edr\n"
                    "switches: [{{id: room0}}, {{id: room1}}, {{id: hall}}]\ntrunks: [{}]\n"
                    "ports: [{{switch: room0, nodes: [{}]}}, {{switch: room1, nodes: [{}]}}]\n",
                    name, 2 * machines, trunks, nodes[0], nodes[1]),
        name + ".yaml");
    return fmt::format(
        "schema: gradwire.scenario/1\nprofile: {{model: {}, gpu: v100-sxm2-16gb, batch_per_gpu: 8, "
        "dtype: fp32}}\ncluster: {{topology: {}}}\nstrategy: {{name: {}}}\n"
        "run: {{iterations: 3, warmup: 1}}\njitter: {{iteration: 0 %, layer: 0 %}}\n",
        model, file, strategy);
  }
};

std::string trunk(const char* a, const char* b, double gbit, double latency_us, int cables) {
  return fmt::format("{{a: {}, b: {}, bandwidth: {:.6g} Gbit/s, latency: {:.6g} us, cables: {}}}",
                     a, b, gbit, latency_us, cables);
}

void check_same(const std::string& one, const std::string& other) {
  const auto first = predict(one);
  const auto second = predict(other);
  REQUIRE(first);
  REQUIRE(second);
  INFO(one << other);
  CHECK(second->iteration == Approx(first->iteration).epsilon(1e-6));
}

constexpr int cases = 20;

}  // namespace

TEST_CASE("a trunk cut into two halves, one behind the other, is the same trunk", "[laws]") {
  for (int number = 0; number < cases; ++number) {
    Draws draws(201 + static_cast<std::uint64_t>(number));
    const Rooms rooms(draws);
    const test::ScratchFolder folder;
    const auto spare = trunk("hall", "room1", 1, 1, 1);  // on no way: two hops of 1 Gbit/s
    const auto half = [&](const char* a, const char* b) {
      return trunk(a, b, rooms.gbit, rooms.latency_us / 2, rooms.cables);
    };
    check_same(
        rooms.scenario(
            folder, "whole",
            trunk("room0", "room1", rooms.gbit, rooms.latency_us, rooms.cables) + ", " + spare),
        rooms.scenario(folder, "halves", half("room0", "hall") + ", " + half("hall", "room1")));
  }
}

TEST_CASE("a cable cut into two of half the rate, side by side, is the same cable", "[laws]") {
  for (int number = 0; number < cases; ++number) {
    Draws draws(301 + static_cast<std::uint64_t>(number));
    const Rooms rooms(draws);
    const test::ScratchFolder folder;
    const auto spare = ", " + trunk("hall", "room1", 1, 1, 1);
    check_same(
        rooms.scenario(folder, "whole",
                       trunk("room0", "room1", rooms.gbit, rooms.latency_us, rooms.cables) + spare),
        rooms.scenario(
            folder, "halves",
            trunk("room0", "room1", rooms.gbit / 2, rooms.latency_us, 2 * rooms.cables) + spare));
  }
}

TEST_CASE("which group of machines stands first changes nothing", "[laws]") {
  // Rings close: machines of two kinds in a row are the same ring from either end. (Not Horovod:
  // rank 0, whose machine is another one then, is its coordinator.)
  for (int number = 0; number < cases; ++number) {
    Draws draws(401 + static_cast<std::uint64_t>(number));
    const std::string a = fmt::format("{{node: dgx1v, nodes: {}}}", 1 + draws.below(3));
    const std::string b =
        fmt::format("{{node: p3_16xlarge, nodes: {}, links_per_node: 1}}", 1 + draws.below(3));
    const auto scenario = [&](const std::string& groups, const std::string& strategy) {
      return fmt::format(
          "schema: gradwire.scenario/1\nprofile: {{model: resnet50, gpu: v100-sxm2-16gb, "
          "batch_per_gpu: 8, dtype: fp32}}\ncluster: {{groups: [{}], fabric: {{kind: "
          "single_switch, "
          "link: eth_25g, links_per_node: 1}}}}\nstrategy: {{name: {}}}\n"
          "collective: {{library: nccl, algorithm: ring}}\n"
          "run: {{iterations: 3, warmup: 1}}\njitter: {{iteration: 0 %, layer: 0 %}}\n",
          groups, strategy);
    };
    const auto strategy = draws.of<std::string>({"ddp", "bsp", "wfbp", "mg_wfbp", "dear"});
    check_same(scenario(a + ", " + b, strategy), scenario(b + ", " + a, strategy));
  }
}
