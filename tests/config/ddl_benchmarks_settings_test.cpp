#include "sim/config/strategy/ddl_benchmarks_settings.hpp"

#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

std::string translated(const std::string& text) {
  YamlValue document = parse_yaml(text, "s.yaml");
  translate_ddl_benchmarks_settings(document);
  return to_text(document);
}

std::string same(const std::string& text) {
  return to_text(parse_yaml(text, "t"));
}

}  // namespace

TEST_CASE("ddl-benchmarks' settings say model, batch, machines and network",
          "[config][ddl_benchmarks]") {
  // rdma=1: 100 Gbit/s InfiniBand; 32 workers are 8 machines of 4.
  CHECK(
      translated("{strategy: {name: wfbp, dnn: resnet50, bs: 32, nworkers: 32, rdma: 1}}") ==
      same("{strategy: {name: wfbp}, profile: {batch_per_gpu: 32, model: resnet50}, "
           "cluster: {nodes: 8, gpus_per_node: 4, fabric: {kind: single_switch, link: ib_edr}}}"));
  // They take the place of what stands there.
  CHECK(translated("{strategy: {name: wfbp, nworkers: 2, rdma: 2}, cluster: {node: n, nodes: 3, "
                   "fabric: {kind: fat_tree, link: ib_ndr}}}") ==
        same("{strategy: {name: wfbp}, cluster: {node: n, fabric: {kind: fat_tree, link: "
             "ipoib_100g}, nodes: 1, gpus_per_node: 2}}"));
  CHECK(translated("{strategy: {name: wfbp}, profile: tiny}") ==
        same("{strategy: {name: wfbp}, profile: tiny}"));
}

TEST_CASE("BERT decodes all positions, with the optimizer of its method's script",
          "[config][ddl_benchmarks]") {
  const auto [strategy, optimizer] = GENERATE(table<std::string, std::string>(
      {{"bsp", "adamw"}, {"mg_wfbp", "adamw"}, {"bytescheduler", "adam"}, {"byteps", "sgd"}}));
  CHECK(translated("{strategy: {name: " + strategy + ", dnn: bert}, profile: {gpu: g}}") ==
        same("{strategy: {name: " + strategy +
             "}, profile: {gpu: g, model: bert_large, batch_per_gpu: 8, sequence_length: 64, head: "
             "pretraining_all_positions, optimizer: " +
             optimizer + "}}"));
  CHECK(translated("{strategy: {name: bsp, dnn: bert_base, senlen: 128}}") ==
        same("{strategy: {name: bsp}, profile: {sequence_length: 128, model: bert_base, "
             "batch_per_gpu: 64, head: pretraining_all_positions, optimizer: adamw}}"));
}

TEST_CASE("ddl-benchmarks' settings that its scripts do not know are refused",
          "[config][ddl_benchmarks]") {
  const auto message = [](const std::string& strategy) {
    return test::refusal_of([&] { return translated("strategy: {name: wfbp, " + strategy + "}"); });
  };
  CHECK(message("rdma: 3") ==
        "s.yaml:1:30: 'rdma' is '3'; expected one of 0, 1, 2; did you mean '0'?");
  CHECK(
      message("nworkers: 6") ==
      "s.yaml:1:34: 'nworkers' is 6; expected up to 4, or a multiple of it: machines have 4 GPUs");
  CHECK(message("bs: 0") == "s.yaml:1:28: 'bs' is '0'; expected a whole number, at least 1");
}
