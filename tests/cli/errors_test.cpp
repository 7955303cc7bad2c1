#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

TEST_CASE("A misspelt key ends with 3, its place and the nearest key, and writes nothing",
          "[cli][errors]") {
  const Workplace place("misspelt");
  place.write("job.yaml", scenario("jittre: {iteration: 0 %}\n"));
  const auto run = place.run("run job.yaml --json r.json --csv r.csv --trace t.json");
  CHECK(run.code == 3);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("job.yaml:7:1: unknown key 'jittre'"));
  CHECK_THAT(run.err, Catch::ContainsSubstring("did you mean 'jitter'?"));
  CHECK_FALSE(place.has("r.json"));
  CHECK_FALSE(place.has("r.csv"));
  CHECK_FALSE(place.has("t.json"));
}

TEST_CASE("A number without its unit ends with 3", "[cli][errors]") {
  const Workplace place("unit");
  place.write("job.yaml", scenario());
  const auto run = place.run("run job.yaml --set strategy.bucket_cap=25");
  CHECK(run.code == 3);
  CHECK(run.err.starts_with("--set strategy.bucket_cap=25:1:"));
  CHECK_THAT(run.err, Catch::ContainsSubstring("without a unit"));
}

TEST_CASE("A choice that cannot be simulated ends with 3 at the key that made it",
          "[cli][errors]") {
  const Workplace place("refused");
  place.write("job.yaml", scenario());
  const auto gloo =
      place.run("run job.yaml --set strategy.name=dear --set collective.library=gloo");
  CHECK(gloo.code == 3);
  CHECK_THAT(gloo.err, Catch::ContainsSubstring("--set collective.library=gloo:1:20: library gloo "
                                                "has no reduce_scatter"));
  const auto sampled = place.run(
      "run job.yaml --set strategy.name=ps_async --set cluster.nodes=33 --set run.fidelity=step");
  CHECK(sampled.code == 3);
  CHECK_THAT(sampled.err, Catch::ContainsSubstring("--set run.fidelity=step:1:14: fidelity 'step' "
                                                   "of 132 asynchronous ranks, of which 64"));
  const auto table = place.run(
      "run job.yaml --set strategy.name=mg_wfbp --set strategy.table=10gbe "
      "--set cluster.gpus_per_node=3");
  CHECK(table.code == 3);
  CHECK_THAT(table.err, Catch::ContainsSubstring(
                            "--set strategy.name=mg_wfbp:1:15: mg_wfbp: the table of alpha "
                            "and beta has no row for 3 workers"));
}

TEST_CASE("Machines of unequal GPUs run where the strategy does not need them equal",
          "[cli][errors]") {
  const Workplace place("unequal");
  const std::string gpus =
      GENERATE("4}, {node: dgx1v, gpus_per_node: 2", "2}, {node: dgx1v, gpus_per_node: 1");
  const std::string groups = "{groups: [{node: dgx1v, gpus_per_node: " + gpus +
                             "}], fabric: {kind: single_switch, link: ib_edr}}";
  const auto run = [&](const std::string& strategy) {
    place.write(
        "job.yaml",
        "schema: gradwire.scenario/1\nprofile: resnet50/v100-sxm2-32gb_fp32_b32\ncluster: " +
            groups + "\nstrategy: {name: " + strategy + "}\nrun: {iterations: 2}\n");
    return place.run("run job.yaml --quiet");
  };
  for (const std::string strategy :
       {"ddp", "byteps", "decentralized", "local_sgd, post_local_gradient_allreduce: false"}) {
    INFO(strategy);
    const auto done = run(strategy);
    CHECK(done.err.empty());
    CHECK(done.code == 0);
  }
  // Subgroups and shards are of equally many ranks.
  for (const std::string strategy : {"hsdp", "local_sgd"}) {
    INFO(strategy);
    const auto refused = run(strategy);
    CHECK(refused.code == 3);
    CHECK_THAT(refused.err,
               Catch::StartsWith("job.yaml:4:18: ") &&
                   Catch::ContainsSubstring("equally many ranks on each; machine 0 has"));
  }
}

TEST_CASE("A missing file ends with 3", "[cli][errors]") {
  const Workplace place("missing");
  const std::string command = GENERATE(
      "run no.yaml", "sweep no.yaml", "check no.yaml", "diff no.json no.json", "show plan no.yaml",
      "show topology no.yaml", "collective no.yaml", "import smi-topo no.txt --gpu v100 -o x.yaml");
  const auto run = place.run(command);
  CHECK(run.code == 3);
  CHECK_THAT(run.err, Catch::ContainsSubstring("no."));
  CHECK_FALSE(place.has("x.yaml"));
}

TEST_CASE("An empty name of a file is told as one", "[cli][errors]") {
  const auto run = Workplace("empty").run("run ''");
  CHECK(run.code == 3);
  CHECK(run.err == "'':1:1: no name of a file; expected a readable YAML file\n");
}

TEST_CASE("An unknown command ends with 2 and the nearest name", "[cli][errors]") {
  const Workplace place("command");
  const auto run = place.run("swep x.yaml");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::ContainsSubstring("unknown command 'swep'"));
  CHECK_THAT(run.err, Catch::ContainsSubstring("did you mean 'sweep'?"));
  CHECK(run.out.empty());
}

TEST_CASE("An unknown part of a command ends with 2 and the nearest name", "[cli][errors]") {
  const Workplace place("part");
  const auto run = place.run("show plna x.yaml");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::ContainsSubstring("unknown command 'plna'; expected one of plan, "));
  CHECK_THAT(run.err, Catch::ContainsSubstring("did you mean 'plan'?"));
}

TEST_CASE("An unknown option ends with 2 and the nearest name", "[cli][errors]") {
  const Workplace place("option");
  const auto run = place.run("run x.yaml --jsno r.json");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::ContainsSubstring("unknown option '--jsno'; did you mean '--json'?"));
  // Nor is it told that a file is missing, which nobody who asks for help has named.
  const auto help = place.run(GENERATE("run --hlep", "sweep --hlep", "show plan --hlep", "--hlep"));
  CHECK(help.code == 2);
  CHECK_THAT(help.err, Catch::ContainsSubstring("unknown option '--hlep'; did you mean '--help'?"));
}

TEST_CASE("A command line that lacks something or has a bad value ends with 2", "[cli][errors]") {
  const Workplace place("bad");
  const std::string arguments =
      GENERATE("", "run", "show", "import", "list", "list cats", "diff one.json",
               "sweep x.yaml -j 0", "sweep x.yaml -j many", "collective x.yaml --op gatherer",
               "collective x.yaml --sizes 1024", "completions tcsh", "run a.yaml b.yaml");
  const auto run = place.run(arguments);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::ContainsSubstring("--help"));
}

TEST_CASE("An output in a folder that does not exist ends with 2 before any work",
          "[cli][errors]") {
  const Workplace place("folder");
  place.write("job.yaml", scenario());
  const auto run = place.run("run job.yaml --json r.json --csv no/r.csv");
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::ContainsSubstring("there is no folder"));
  CHECK(run.out.empty());
  CHECK_FALSE(place.has("r.json"));
}

TEST_CASE("More messages than step takes end with 3 at the key that asks for them",
          "[cli][errors]") {
  const Workplace place("refused");
  // Each of 8 buckets takes 2 * 4095 steps of 4096 messages and more: above the 5e6 of `step`.
  place.write("job.yaml", scenario());
  const auto run = place.run(
      "run job.yaml --set cluster.nodes=512 --set cluster.gpus_per_node=8 --set run.fidelity=step "
      "--json r.json");
  CHECK(run.code == 3);
  CHECK_THAT(run.err,
             Catch::ContainsSubstring("--set run.fidelity=step:1:14: fidelity 'step' would "
                                      "simulate"));
  CHECK_FALSE(place.has("r.json"));
}

TEST_CASE("Fluids where they are known to differ from messages end with 3 at the key that asks",
          "[cli][errors]") {
  const Workplace place("refused");
  place.write("job.yaml", scenario());
  const std::string byteps =
      "run job.yaml --set cluster.node=pcie3_8x_v100 --set cluster.nodes=2 "
      "--set cluster.gpus_per_node=8 "
      "--set strategy.name=byteps --set run.fidelity=";
  for (const std::string fidelity : {"fluid", "coupled", "bracket"}) {
    const auto run = place.run(byteps + fidelity + " --json r.json");
    CHECK(run.code == 3);
    CHECK_THAT(run.err, Catch::ContainsSubstring("--set run.fidelity=" + fidelity +
                                                 ":1:14: flows as fluids are up to 4.5 % off"));
    CHECK_THAT(run.err, Catch::ContainsSubstring("use 'step', or 'auto'"));
    CHECK_FALSE(place.has("r.json"));
  }
  CHECK(place.run(byteps + "step").code == 0);
}

TEST_CASE("Every command has help with an example", "[cli][help]") {
  const Workplace place("help");
  const std::string command =
      GENERATE("", "run", "sweep", "collective", "diff", "check", "list", "show", "show plan",
               "show profile", "show topology", "import", "import smi-topo", "completions");
  const auto run = place.run(command + " --help");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("Example"));
  CHECK(run.err.empty());
}

TEST_CASE("The version is printed, before and behind a command", "[cli][help]") {
  const Workplace place("version");
  for (const char* arguments : {"--version", "run --version"}) {
    const auto run = place.run(arguments);
    CHECK(run.code == 0);
    CHECK(run.out == "gradwire " GRADWIRE_VERSION "\n");
  }
}

TEST_CASE("What standard output cannot take ends with 1", "[cli]") {
  const Workplace place("full");
  place.write("s.yaml", scenario());
  const auto run = place.run("run s.yaml > /dev/full; echo $? > code; true");
  CHECK(place.text("code") == "1\n");
}

}  // namespace
}  // namespace gradwire

TEST_CASE("What does not fit a GPU's memory has no rate unless memory is ignored",
          "[cli][errors]") {
  const Workplace place("misfit");
  // 1.56e9 parameters of 6 bytes with their casts and 8 of Adam's state are 21.8 GB; a T4 has 16.
  place.write("job.yaml",
              "schema: gradwire.scenario/1\n"
              "profile: {model: gpt2_xl, gpu: t4, batch_per_gpu: 1, dtype: fp16}\n"
              "cluster: {node: g4dn_12xlarge, gpus_per_node: 1}\n"
              "strategy: {name: none}\n"
              "run: {iterations: 1, warmup: 1}\n");
  const auto refused = place.run("run job.yaml --json r.json --quiet");
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::StartsWith("gradwire: gpt2_xl with a batch of 1 does not fit: "));
  CHECK_FALSE(place.has("r.json"));
  CHECK(place.run("run job.yaml --ignore-memory").code == 0);
  // Of several points the others are predicted.
  const auto some = place.run(
      "run job.yaml --json r.json --quiet --set 'points=[{label: large}, {label: small, "
      "profile.model: gpt2}]'");
  CHECK(some.code == 1);
  CHECK_THAT(some.err,
             Catch::StartsWith("gradwire: large: gpt2_xl with a batch of 1 does not fit"));
  CHECK(place.has("r.json"));
  // Eight experts' rows for 16 ranks: padding is why it does not fit, and that is told.
  const auto uneven = place.run(
      "run job.yaml --quiet --set 'profile={model: mixtral_8x7b, gpu: h100-sxm5-80gb, "
      "batch_per_gpu: 1, dtype: bf16, layers: 16}' --set 'cluster={node: hgx_h100, nodes: 2, "
      "fabric: {kind: single_switch, link: ib_ndr}}' --set strategy.name=fsdp2");
  CHECK(uneven.code == 1);
  CHECK_THAT(uneven.err, Catch::ContainsSubstring("has 8 rows for 16 ranks: fully_shard pads"));
}
