#include "sim/config/strategy/strategy_catalogue.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/config/strategy/compression_catalogue.hpp"
#include "sim/config/yaml/yaml_knobs.hpp"
#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

JobView two_tensors() {
  JobView job;
  job.world_size = 2;
  job.tensors = {{"a", 300'000, 0}, {"b", 300'000, 1}};
  job.gradient_order = {1, 0};
  return job;
}

/// On two machines with a server each.
JobView job_of(std::int64_t element_size) {
  JobView job = two_tensors();
  job.element_size = element_size;
  job.machine_of = {0, 1};
  job.machines = 2;
  job.server_machine = {0, 1};
  job.layers = {{Seconds{1e-3}, Seconds{1e-3}}, {Seconds{1e-3}, Seconds{1e-3}}};
  job.network_bandwidth = BytesPerSecond{1e9};
  job.host_copy_bandwidth = BytesPerSecond{1e9};
  job.all_reduce_time = [](Bytes size) { return Seconds{1e-5} + size / BytesPerSecond{1e9}; };
  return job;
}

std::unique_ptr<Strategy> make(const std::string& text, const JobView& job = two_tensors()) {
  const YamlValue document = parse_yaml(text, "s.yaml");
  YamlMap map(document);
  const auto* entry = find_strategy(map.require<std::string>("name"));
  YamlKnobs knobs(std::move(map));
  auto maker = read_strategy(*entry, knobs);
  knobs.finish();
  return maker(job);
}

}  // namespace

TEST_CASE("strategies that take any type send half of gradients of half precision",
          "[config][catalogue]") {
  const auto planned = [](const std::string& name, std::int64_t element_size) {
    std::pair<std::int64_t, std::int64_t> elements_and_bytes;
    for (const PlanGroup& group : make("name: " + name, job_of(element_size))->plan(1)) {
      elements_and_bytes.first += group.elements;
      elements_and_bytes.second += group.size.count();
    }
    return elements_and_bytes;
  };
  int checked = 0;
  for (const StrategyEntry& entry : strategy_catalogue()) {
    if (!entry.flags.any_dtype) continue;
    INFO(entry.name);
    const auto whole = planned(entry.name, 4);
    const auto half = planned(entry.name, 2);
    CHECK(whole.second > 0);
    CHECK(2 * half.second == whole.second);
    CHECK(half.first == whole.first);
    ++checked;
  }
  CHECK(checked == 22);
}

TEST_CASE("every strategy's steps are exact, lossy or stale", "[config][catalogue]") {
  // Lossy: what codes gradients itself. Stale: asynchronous servers and peers, averages of models,
  // gradients of the last step; ranks that never talk.
  const std::map<Exactness, std::vector<std::string>> expected = {
      {Exactness::exact,
       {"apex_ddp",
        "asc_wfbp",
        "autodist_all_reduce",
        "average_gradients",
        "bsp",
        "byteps",
        "bytescheduler",
        "ddp",
        "dear",
        "deepspeed",
        "fsdp",
        "fsdp2",
        "horovod",
        "hsdp",
        "kungfu_sync",
        "megatron",
        "mg_wfbp",
        "mxnet_kvstore",
        "p3",
        "ps_sync",
        "tf_collective_all_reduce",
        "tictac",
        "wfbp"}},
      {Exactness::lossy, {"acp_sgd", "bytegrad", "gtopk", "powersgd", "signsgd", "topk"}},
      {Exactness::stale,
       {"decentralized", "diloco", "kungfu_ada", "kungfu_pair_averaging", "kungfu_sma", "lb_sgd",
        "local_sgd", "none", "ps_async", "ssp"}}};
  std::map<Exactness, std::vector<std::string>> found;
  for (const auto& entry : strategy_catalogue()) found[entry.exactness].push_back(entry.name);
  for (const auto& [exactness, names] : expected) {
    std::ranges::sort(found[exactness]);
    CHECK(found[exactness] == names);
  }
}

TEST_CASE("a strategy's knobs may make its steps other than they are by default",
          "[config][catalogue]") {
  const auto exactness = [](const std::string& text) {
    return make(text, job_of(4))->traits().exactness;
  };
  CHECK(exactness("{name: byteps, enable_async: true}") == Exactness::stale);
  CHECK(exactness("{name: kungfu_ada, change_step: 0}") == Exactness::exact);
  CHECK(exactness("{name: horovod, adasum: true}") == Exactness::lossy);
  // Gradients come in the parameters' type: reduced in it, nothing is lost.
  CHECK(exactness("{name: fsdp, reduce_dtype: bf16}") == Exactness::lossy);
  CHECK(exactness("{name: fsdp, param_dtype: bf16}") == Exactness::exact);
  for (const auto& compression : compression_catalogue()) {
    INFO(compression.name);
    CHECK(exactness("{name: ddp, compression: {name: " + compression.name + "}}") ==
          Exactness::lossy);
  }
  CHECK(exactness("{name: ps_async, compression: {name: signsgd, device: cpu}}") ==
        Exactness::stale);
  JobView alone = two_tensors();
  alone.world_size = 1;
  CHECK(make("name: none", alone)->traits().exactness == Exactness::exact);
}

TEST_CASE("each name makes its own strategy", "[config][catalogue]") {
  CHECK(dynamic_cast<NoCommunication*>(make("name: none").get()) != nullptr);
  CHECK(make("name: bsp")->plan(0).size() == 1);
  CHECK(make("name: wfbp")->plan(0).size() == 2);
  CHECK(dynamic_cast<Ddp*>(make("name: ddp").get()) != nullptr);
}

TEST_CASE("DDP's knobs reach its buckets", "[config][catalogue]") {
  // 1.2 MB a tensor: a first bucket of 1 MB closes after one, one of 2 MB takes both.
  CHECK(make("{name: ddp, first_bucket_cap: 1 MB, bucket_cap: 1 MB}")->plan(1).size() == 2);
  CHECK(make("{name: ddp, first_bucket_cap: 2 MB, bucket_cap: 2 MB}")->plan(1).size() == 1);
  // Up to 2.3 the first bucket closes with the first MB; from 2.4 on it has the cap that was set.
  CHECK(make("{name: ddp, version: 2.3, bucket_cap: 2 MB}")->plan(1).size() == 2);
  CHECK(make("{name: ddp, version: 2.4, bucket_cap: 2 MB}")->plan(1).size() == 1);
  // The fp16 hook sends half of 4 bytes an element.
  const auto plan = make("{name: ddp, first_bucket_cap: 2 MB, compression: {name: fp16}}")->plan(1);
  REQUIRE(plan.size() == 1);
  CHECK(plan[0].size == Bytes{2 * 600'000});
}

TEST_CASE("every knob that the catalogue lists is one that the strategy reads",
          "[config][catalogue]") {
  for (const auto& entry : strategy_catalogue()) {
    for (const auto& parameter : entry.parameters) {
      // Read with the cluster, and with the strategy's name.
      if (parameter.name == "servers" || parameter.name == "gradient_dtype") continue;
      const YamlValue document = parse_yaml("{" + parameter.name + ": []}", "s.yaml");
      YamlKnobs knobs{YamlMap(document)};
      INFO(entry.name << ": " << parameter.name);
      // A list is never a knob's value: only a knob that is read can be refused.
      CHECK_THROWS_AS(read_strategy(entry, knobs), ConfigError);
    }
  }
}
