#include <fmt/format.h>

#include <string>

#include "sim/config/scenario.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/refusal.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

/// The message for the good scenario with its line `number` (from 1) replaced.
class ErrorFixture : public ConfigFixture {
 public:
  [[nodiscard]] std::string message(int number, const std::string& line) const {
    std::string text = good;
    std::size_t begin = 0;
    for (int i = 1; i < number; ++i) begin = text.find('\n', begin) + 1;
    text.replace(begin, text.find('\n', begin) - begin, line);
    return message_of(text, {});
  }

  /// Without the name of the folder.
  [[nodiscard]] std::string message_of(const std::string& scenario,
                                       const std::vector<std::string>& sets) const {
    const std::string file = write(scenario);
    return gradwire::test::refusal_of([&] { return read_scenario(file, sets); });
  }
};

}  // namespace

TEST_CASE_METHOD(ErrorFixture, "the good scenario is accepted", "[config][errors]") {
  CHECK(message_of(good, {}) == "accepted");
}

TEST_CASE_METHOD(ErrorFixture, "a misspelt key of a scenario is reported with the nearest",
                 "[config][errors]") {
  CHECK(message(9, "runn: {}") ==
        "s.yaml:9:1: unknown key 'runn'; expected one of schema, name, profile, gpu, cluster, "
        "elastic, placement, compressor_costs, strategy, collective, run, jitter, stragglers, "
        "uneven_inputs, points, vary; did you mean 'run'?");
  CHECK(message(7, "strategy: {name: ddp, bukcet_cap: 25 MiB}") ==
        "s.yaml:7:23: unknown key 'bukcet_cap'; expected one of name, grad_accumulation, "
        "gradient_dtype, version, bucket_cap, first_bucket_cap, set_last_bucket_cap, "
        "gradient_as_bucket_view, find_unused_parameters, static_graph, broadcast_buffers, join, "
        "divide_by_initial_world_size, optimizer, parameters_as_bucket_view, overlap_with_ddp, "
        "shard_buckets, compression; did you mean 'bucket_cap'?");
  CHECK(message(7, "strategy: {name: bsp, bucket_cap: 25 MiB}") ==
        "s.yaml:7:23: unknown key 'bucket_cap'; expected one of name, grad_accumulation, "
        "gradient_dtype, over, version, hook_time, request_time, local_latency, compression");
}

TEST_CASE_METHOD(ErrorFixture, "an empty name is no name of a job", "[config][errors]") {
  CHECK(message_of(good, {"name=\"\""}) ==
        "--set name=\"\":1:6: 'name' is empty; expected a text, or no such key");
}

TEST_CASE_METHOD(ErrorFixture, "an end that nobody would guess says why it is there",
                 "[config][errors]") {
  CHECK(message(9, "run: {input_rate: 0.0001}") ==
        "s.yaml:9:19: 'input_rate' is '0.0001'; expected a number, at least 0.001 (one sample in a "
        "quarter of an hour)");
  CHECK_THAT(message(9, "gpu: {memory_bandwidth: 1 B/s}"),
             Catch::EndsWith(", at least 533 MB/s (a PC's SDRAM of 1997: no GPU's is slower)"));
  CHECK_THAT(
      message_of(good, {"profile={model: resnet50, gpu: big-gpu, batch_per_gpu: 1, dtype: fp32, "
                        "host_time: 100001 %}"}),
      Catch::EndsWith(", above 0 %, at most 100000 % (what hosts differ by is a small part "
                      "of it)"));
}

TEST_CASE_METHOD(ErrorFixture, "a knob's time that no host takes is refused with its bound",
                 "[config][errors]") {
  const std::string times = "expected a time such as '20 us' (units s, ms, us, ns), at least 0 s";
  CHECK(message(7, "strategy: {name: average_gradients, call_time: 61 s}") ==
        "s.yaml:7:48: 'call_time' is '61 s'; " + times + ", at most 60 s");
  CHECK(message(7, "strategy: {name: average_gradients, call_time: 60 s}") == "accepted");
  CHECK(message_of(good, {"collective={library: nccl, host_per_call: 11 s}"}) ==
        "--set collective={library: nccl, host_per_call: 11 s}:1:43: 'host_per_call' is '11 s'; " +
            times + ", at most 10 s");
}

TEST_CASE_METHOD(ErrorFixture, "offload to host memory is refused where its origins have none",
                 "[config][errors]") {
  CHECK(message(7, "strategy: {name: deepspeed, stage: 3, offload_param: cpu}") ==
        "s.yaml:7:54: 'offload_param' is 'cpu' without 'offload_optimizer: cpu'; expected both, as "
        "in DeepSpeed");
  CHECK(message(7, "strategy: {name: deepspeed, offload_optimizer: cpu, offload_param: cpu}") ==
        "s.yaml:7:68: 'offload_param' has no effect here; expected 'stage: 3' beside it");
  CHECK(message(7, "strategy: {name: deepspeed, pin_memory: true}") ==
        "s.yaml:7:41: 'pin_memory' has no effect here; expected 'offload_optimizer: cpu' beside "
        "it");
  CHECK(message(7, "strategy: {name: fsdp, sharding_strategy: NO_SHARD, cpu_offload: true}") ==
        "s.yaml:7:66: 'cpu_offload' goes with shards of parameters; expected FULL_SHARD or "
        "SHARD_GRAD_OP beside it");
  CHECK(message(7, "strategy: {name: fsdp2, omp_num_threads: 2}") ==
        "s.yaml:7:42: 'omp_num_threads' has no effect here; expected 'cpu_offload: true' beside "
        "it");
}

TEST_CASE_METHOD(ErrorFixture,
                 "a mistake of the file is reported in its own terms, not in a point's",
                 "[config][errors]") {
  const std::string text = std::string(good) + "points:\n  - {label: one, strategy.name: none}\n";
  CHECK(message_of(text, {}) == "accepted");
  CHECK_THAT(message_of(text, {"strategy.bukcet_cap=25 MiB"}),
             Catch::ContainsSubstring("did you mean 'bucket_cap'?"));
}

TEST_CASE_METHOD(ErrorFixture, "a missing or wrong unit in a scenario is reported at the value",
                 "[config][errors]") {
  const std::string size =
      "; expected a size such as '25 MiB' (units B, kB, MB, GB, KiB, MiB, GiB)";
  CHECK(message(7, "strategy: {name: ddp, bucket_cap: 25}") ==
        "s.yaml:7:35: 'bucket_cap' is '25', without a unit" + size);
  CHECK(message(7, "strategy: {name: ddp, bucket_cap: 25 Mib}") ==
        "s.yaml:7:35: 'bucket_cap' is '25 Mib', unknown unit 'Mib'" + size +
            "; did you mean 'MiB'?");
  CHECK(message(10, "jitter: {iteration: 0.02}") ==
        "s.yaml:10:21: 'iteration' is '0.02', without a unit; expected a share such as '1.5 %'");
}

TEST_CASE_METHOD(ErrorFixture, "a wrong type, a value out of range, a missing key have their place",
                 "[config][errors]") {
  CHECK(message(5, "  nodes: two") == "s.yaml:5:10: 'nodes' is 'two'; expected a whole number");
  CHECK(message(5, "  nodes: 0") ==
        "s.yaml:5:10: 'nodes' is '0'; expected a whole number, at least 1, at most 1000000");
  CHECK(message(5, "  gpus_per_node: 3") ==
        "s.yaml:5:18: 'gpus_per_node' is '3'; expected a whole number, at least 1, at most 2");
  CHECK(message(4, "  # no node") ==
        "s.yaml:5:3: missing key 'node'; expected a node type such as dgx1v");
  CHECK_THAT(message_of(good, {"cluster={topologyy: two_rooms}"}),
             Catch::Contains("is 'topologyy' a misspelling of 'topology'?"));
  CHECK(message(6, "  # no fabric") ==
        "s.yaml:4:3: missing key 'fabric'; expected one for several nodes, such as {kind: "
        "single_switch, link: ib_edr}");
  CHECK(message(7, "strategy: ddp") ==
        "s.yaml:7:11: 'strategy' is 'ddp'; expected a mapping, such as {name: ddp}");
  CHECK(message(11, "stragglers: [{ranks: [4], compute: 1.5}]") ==
        "s.yaml:11:23: 'ranks' is '4'; expected a whole number, at least 0, at most 3");
  CHECK(message(11, "stragglers: [{ranks: [1], compute: 1e308}]") ==
        "s.yaml:11:36: 'compute' is '1e308'; expected a number, above 0, at most 1000000");
  CHECK(message(11, "stragglers: [{ranks: [1, 1], compute: 1.5}]") ==
        "s.yaml:11:22: 'ranks' names a rank twice; expected each once");
  CHECK(message(11, "stragglers: [{compute: 1.5}]") ==
        "s.yaml:11:14: a straggler needs 'ranks' or 'fraction'; expected one of the two");
  CHECK(message(11, "uneven_inputs: [{ranks: [1], iterations: 56}]") ==
        "s.yaml:11:42: 'iterations' is '56'; expected a whole number, at least 1, at most 12");
  CHECK(message(11, "uneven_inputs: [{ranks: [1], iterations: 9}, {ranks: [1], iterations: 8}]") ==
        "s.yaml:11:54: rank 1 stands in two entries of 'uneven_inputs'; expected each once");
  CHECK(message(11, "uneven_inputs: [{ranks: [0, 1, 2, 3], iterations: 9}]") ==
        "s.yaml:11:16: all ranks have run out of inputs behind iteration 9 of 12, warm-up "
        "included; expected one with as many");
}

TEST_CASE_METHOD(ErrorFixture, "an unknown name is reported with the nearest", "[config][errors]") {
  CHECK(message(2, "profile: tiny/small-gpu_fp32_b8") ==
        "s.yaml:2:10: 'profile' is 'tiny/small-gpu_fp32_b8'; expected a name that 'gradwire list "
        "profiles' shows or a path to a .yaml file; did you mean 'tiny/small-gpu_fp32_b4'?");
  CHECK(message(2, "profile: tinny.yaml") ==
        "s.yaml:2:10: 'profile' is 'tinny.yaml', which is not there; expected a YAML file");
  CHECK(message(4, "  node: piar") ==
        "s.yaml:4:9: 'node' is 'piar'; expected a name that 'gradwire list topologies' shows or a "
        "path to a .yaml file; did you mean 'pair'?");
  CHECK(message(7, "strategy: {name: dpd}") ==
        fmt::format("s.yaml:7:18: 'name' is 'dpd'; expected one of {}; did you mean 'ddp'?",
                    fmt::join(names_of(strategy_catalogue()), ", ")));
  CHECK(message(8, "collective: {library: ncll}") ==
        "s.yaml:8:23: 'library' is 'ncll'; expected one of nccl, gloo, mpi, user, flows; did you "
        "mean 'nccl'?");
  CHECK(message(6, "  fabric: {kind: singel_switch, link: ib_edr}") ==
        "s.yaml:6:18: 'kind' is 'singel_switch'; expected one of single_switch, fat_tree, rail, "
        "dragonfly, torus; did you mean 'single_switch'?");
  const std::string link = message(6, "  fabric: {kind: single_switch, link: ib_erd}");
  CHECK(link.starts_with("s.yaml:6:39: 'link' is 'ib_erd'; expected one of eth_1g, "));
  CHECK(link.ends_with("; did you mean 'ib_edr'?"));
}

TEST_CASE_METHOD(ErrorFixture, "parts of less than a kilobyte are refused", "[config][errors]") {
  CHECK(message(7, "strategy: {name: kungfu_sync, part: 1 KiB}") == "accepted");
  CHECK(message(7, "strategy: {name: kungfu_sync, part: 1 B}") ==
        "s.yaml:7:37: 'part' is '1 B'; expected a size such as '25 MiB' (units B, kB, MB, GB, KiB, "
        "MiB, GiB), at least 1 KiB");
}

TEST_CASE_METHOD(ErrorFixture, "ZeRO's overlap is refused where PyTorch has none",
                 "[config][errors]") {
  CHECK(message(7, "strategy: {name: ddp, version: 2.0, overlap_with_ddp: hook_with_zero_step}") ==
        "s.yaml:7:55: 'overlap_with_ddp' is of 'optimizer: ZeroRedundancyOptimizer'; expected them "
        "together");
  CHECK(message(7,
                "strategy: {name: ddp, version: 1.9, optimizer: ZeroRedundancyOptimizer, "
                "overlap_with_ddp: hook_with_zero_step}") ==
        "s.yaml:7:91: 'overlap_with_ddp' came with PyTorch 1.10; expected none or a later version");
  CHECK(message(7,
                "strategy: {name: ddp, version: 2.0, optimizer: ZeroRedundancyOptimizer, "
                "shard_buckets: true}") ==
        "s.yaml:7:88: 'shard_buckets' is of 'overlap_with_ddp'; expected a hook there");
  CHECK(message(7,
                "strategy: {name: ddp, version: 2.0, optimizer: ZeroRedundancyOptimizer, "
                "overlap_with_ddp: hook_with_zero_step, parameters_as_bucket_view: true}") ==
        "s.yaml:7:139: 'parameters_as_bucket_view' has no effect here; with 'overlap_with_ddp' "
        "parameters lie as DDP's buckets; expected one of the two");
  CHECK(message(7,
                "strategy: {name: ddp, version: 2.0, find_unused_parameters: true, optimizer: "
                "ZeroRedundancyOptimizer, overlap_with_ddp: hook_with_zero_step}") ==
        "s.yaml:7:121: 'overlap_with_ddp' updates nothing before DDP has rebuilt its buckets, "
        "which 'find_unused_parameters' keeps it from; expected 'static_graph: true' beside it, or "
        "neither");
  CHECK(message(7,
                "strategy: {name: ddp, version: 2.0, optimizer: ZeroRedundancyOptimizer, "
                "overlap_with_ddp: hook_with_zero_step, compression: {name: fp16}}") ==
        "s.yaml:7:91: 'overlap_with_ddp' around another communication hook is not modelled; "
        "expected it without 'compression'");
}

TEST_CASE_METHOD(ErrorFixture, "releases that the model does not know are refused",
                 "[config][errors]") {
  CHECK(message(7, "strategy: {name: ddp, version: 1.3}") ==
        "s.yaml:7:32: 'version' is '1.3'; expected a PyTorch release from 1.4 on, such as 2.3");
  CHECK(message(7, "strategy: {name: ddp, version: 1.4, gradient_as_bucket_view: true}") ==
        "s.yaml:7:62: 'gradient_as_bucket_view' came with PyTorch 1.7; expected false or a later "
        "version");
  CHECK(message(7, "strategy: {name: ddp, version: 1.7, set_last_bucket_cap: true}") ==
        "s.yaml:7:58: 'set_last_bucket_cap' came with PyTorch 1.10; expected false or a later "
        "version");
  CHECK(message(
            7, "strategy: {name: ddp, version: 2.4, bucket_cap: 1 MiB, first_bucket_cap: 1 MiB}") ==
        "s.yaml:7:74: 'first_bucket_cap' is not looked at beside 'bucket_cap' from PyTorch 2.4 on; "
        "expected one of the two");
  CHECK(message(7, "strategy: {name: horovod, version: 0.9}") ==
        "s.yaml:7:36: 'version' is '0.9'; expected a Horovod release from 0.16 on, such as 0.28");
  CHECK(message(7, "strategy: {name: horovod, version: 0.20, groups: 4}") ==
        "s.yaml:7:50: 'groups' came with Horovod 0.21; expected 0 or a later version");
  CHECK(message(8, "collective: {version: new}") ==
        "s.yaml:8:23: 'version' is 'new'; expected a release of NCCL 2, such as 2.8.4");
}

TEST_CASE_METHOD(ErrorFixture, "knobs of synchronous BytePS are refused beside enable_async",
                 "[config]") {
  CHECK(message(7, "strategy: {name: byteps, enable_async: true, cross_barrier: true}") ==
        "s.yaml:7:61: 'cross_barrier' is of synchronous training; expected no such key beside "
        "enable_async");
  CHECK(message(7, "strategy: {name: byteps, reduce_roots: first}") ==
        "s.yaml:7:40: 'reduce_roots' is 'first'; expected local ranks with commas between them, "
        "such as 0,4, or -1 for none");
  CHECK(message(7, "strategy: {name: ddp, compression: {name: topk, momentum: nesterov}}") ==
        "s.yaml:7:59: 'momentum' is BytePS's; expected no such key under 'ddp'");
  CHECK(message(7, "strategy: {name: bsp, compression: {name: topk, min_compress_bytes: 1 KiB}}") ==
        "s.yaml:7:69: 'bsp' sends no messages; expected no 'min_compress_bytes'");
  CHECK(message(9, "run: {phases: both}") ==
        "s.yaml:9:15: 'phases' is 'both'; expected one of steady, all");
}

TEST_CASE_METHOD(ErrorFixture, "gradients of half precision are for strategies that send them so",
                 "[config]") {
  CHECK(message(7, "strategy: {name: fsdp, gradient_dtype: bf16}") ==
        "s.yaml:7:40: 'gradient_dtype' is 'bf16', and 'fsdp' exchanges fp32; expected fp32");
  CHECK(message(7, "strategy: {name: ddp, gradient_dtype: fp16, compression: {name: topk}}") ==
        "s.yaml:7:39: 'gradient_dtype' is 'fp16', and 'compression' codes fp32; expected fp32");
  CHECK(message(7, "strategy: {name: ddp, gradient_dtype: half}") ==
        "s.yaml:7:39: 'gradient_dtype' is 'half'; expected one of fp32, fp16, bf16");
}

TEST_CASE_METHOD(ErrorFixture, "knobs that have no effect beside the others are refused",
                 "[config]") {
  struct Unused {
    std::string strategy, knob, needed;
  };
  const Unused unused = GENERATE(
      Unused{"name: horovod, autotune_steps_per_sample: 5", "autotune_steps_per_sample",
             "autotune: true"},
      Unused{"name: tf_collective_all_reduce, implementation: NCCL, rpc_threads: 2", "rpc_threads",
             "implementation: RING"},
      Unused{"name: byteps, mixed_mode_bound: 99", "mixed_mode_bound", "key_hash_fn: mixed"},
      Unused{"name: byteps, built_in_hash_coef: 2", "built_in_hash_coef", "key_hash_fn: built_in"},
      Unused{"name: bytescheduler, mode: ps, cycle_time: 1 ms", "cycle_time", "mode: allreduce"},
      Unused{"name: bytescheduler, sum_rate: 1 GB/s", "sum_rate", "mode: ps"},
      Unused{"name: kungfu_sync, mode: nccl, graph: RING", "graph", "mode: cpu"},
      Unused{"name: kungfu_sync, nccl_fusion: false", "nccl_fusion", "mode: nccl"},
      Unused{"name: powersgd, implementation: epfml, bucket_cap: 1 MiB", "bucket_cap",
             "implementation: ddp_hook"},
      Unused{"name: signsgd, bucket_size: 1 MiB", "bucket_size", "vote: rank0"},
      Unused{"name: signsgd, vote: rank0, threshold: 9", "threshold", "vote: all_gather"});
  CHECK_THAT(message(7, "strategy: {" + unused.strategy + "}"),
             Catch::ContainsSubstring("'" + unused.knob + "' has no effect here; expected '" +
                                      unused.needed + "' beside it"));
}

TEST_CASE_METHOD(ErrorFixture, "knobs of Horovod and MG-WFBP that exclude each other are refused",
                 "[config]") {
  CHECK(message(7, "strategy: {name: wfbp, hook_time: 20 us}") ==
        "s.yaml:7:35: 'hook_time' has no effect here; expected 'over: horovod' beside it");
  CHECK(message(7, "strategy: {name: horovod, adasum: true, hierarchical_allreduce: true}") ==
        "s.yaml:7:35: two algorithms of reducing; expected one of hierarchical_allreduce, "
        "torus_allreduce, adasum");
  CHECK(message(7, "strategy: {name: mg_wfbp, alpha: 1 ms}") ==
        "s.yaml:7:34: one of 'alpha' and 'beta' is missing; expected both");
  CHECK(message(7, "strategy: {name: mg_wfbp, table: 10gbe, alpha: 1 ms, beta: 1 ns}") ==
        "s.yaml:7:48: 'alpha' and 'table' name two costs; expected one");
  CHECK(
      message(7, "strategy: {name: mg_wfbp, merge: best}").find("expected one of rule, optimal") !=
      std::string::npos);
}

TEST_CASE_METHOD(ErrorFixture, "what later versions bring is refused, not ignored",
                 "[config][errors]") {
  CHECK(message(10, "events: [{at: 2 s, worker: 7, lost: true}]") ==
        "s.yaml:10:1: not modelled yet: events; expected no such key");
  const std::string why =
      "; expected no such key: every GPU of 'cluster' works on samples of its own, and strategies "
      "such as fsdp2 shard what one cannot hold";
  CHECK(message(10, "tensor_parallel: 2") ==
        "s.yaml:10:1: not modelled yet: tensor_parallel (tensor parallelism)" + why);
  CHECK(message(7, "strategy: {name: ddp, pipeline-model-parallel-size: 2}") ==
        "s.yaml:7:23: not modelled yet: pipeline-model-parallel-size (pipeline parallelism)" + why);
  CHECK(message(8, "collective: {algorithm: trie}") ==
        "s.yaml:8:25: 'algorithm' names 'trie'; expected auto, or names of tree, ring, "
        "collnet_direct, collnet_chain, nvls, nvls_tree, pat, with commas between them; did you "
        "mean 'tree'?");
  CHECK(message(11, "vary: {run.seed: [1, 2]}") ==
        "s.yaml:11:7: 'vary' is for 'gradwire sweep'; expected a scenario without it");
}

TEST_CASE_METHOD(ErrorFixture, "a bad override is reported on the command line",
                 "[config][errors]") {
  CHECK(message_of(good, {"strategy.bucket_cap=25"}) ==
        "--set strategy.bucket_cap=25:1:21: 'bucket_cap' is '25', without a unit; expected a size "
        "such as '25 MiB' (units B, kB, MB, GB, KiB, MiB, GiB)");
  CHECK(message_of(good, {"run.iteratoins=5"}) ==
        "--set run.iteratoins=5:1:5: unknown key 'iteratoins'; expected one of iterations, warmup, "
        "seed, phases, start, fidelity, ignore_memory, input_rate; did you mean 'iterations'?");
  CHECK(message_of(good, {"strategy={name: ddp"}) ==
        "--set strategy={name: ddp:1:10: YAML syntax: a mapping in braces is not closed by '}'; "
        "expected well-formed YAML");
  CHECK(message_of(good, {"cluster.nodes.count=5"}) ==
        "--set cluster.nodes.count=5:1:15: 'cluster.nodes' has no keys, it is '2'; expected a "
        "mapping");
}

TEST_CASE_METHOD(ErrorFixture, "a bad point is reported at its own line", "[config][errors]") {
  const std::string text = good;
  CHECK(message_of(text + "points:\n  - {label: a, cluster.ndoes: 1}\n", {}) ==
        "s.yaml:13:24: unknown key 'ndoes'; expected one of node, nodes, gpus_per_node, "
        "socket_bandwidth, peer_to_peer, staged_bandwidth, gpu, clock, power_limit, fabric, "
        "topology, groups; did you "
        "mean 'nodes'?");
  CHECK(message_of(text + "points:\n  - {label: a, cluster.nodes: many}\n", {}) ==
        "s.yaml:13:31: 'nodes' is 'many'; expected a whole number");
  CHECK(message_of(text + "points: 3\n", {}) ==
        "s.yaml:12:9: 'points' is '3'; expected a list, each item a mapping");
  // A knob of the former strategy goes only when the override does not set it itself.
  CHECK(message_of(text + "points:\n  - {strategy.name: bsp, strategy.bucket_cap: 1 MiB}\n", {}) ==
        "s.yaml:13:35: unknown key 'bucket_cap'; expected one of name, grad_accumulation, "
        "gradient_dtype, over, version, hook_time, request_time, local_latency, compression");
}

TEST_CASE_METHOD(ErrorFixture, "a bad axis of a sweep is reported at its own line",
                 "[config][sweep]") {
  const std::string file = write(std::string(good) + "vary: {run.seed: 3}\n");
  CHECK_THROWS_WITH(sweep_points(file, {}),
                    file + ":12:18: 'run.seed' is '3'; expected a list of values to try");
}

TEST_CASE_METHOD(ErrorFixture, "a scenario cut anywhere is read or refused, never a crash",
                 "[config][errors][fuzz]") {
  const std::string text = good;
  int accepted = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    accepted += message_of(text.substr(0, size), {}) == "accepted" ? 1 : 0;
  }
  // All that must be there stands in lines 1 to 7: at least the cuts before and behind the ends of
  // lines 7 to 10 are whole.
  CHECK(accepted >= 8);
}

TEST_CASE_METHOD(ErrorFixture, "a scenario with any byte changed is read or refused, never a crash",
                 "[config][errors][fuzz]") {
  const std::string text = good;
  int refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'\0', '\n', '{', '*', '"', '-', '\xff', '\t'}) {
      std::string changed = text;
      changed[at] = byte;
      refused += message_of(changed, {}) == "accepted" ? 0 : 1;
    }
  }
  CHECK(refused > static_cast<int>(text.size()));
}
