#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

TEST_CASE("What is built in is listed as text and as objects with names", "[cli][list]") {
  const Workplace place("list");
  const std::vector<std::pair<const char*, std::vector<std::string>>> lists = {
      {"strategies", {"none", "bsp", "wfbp", "ddp"}},
      {"collectives", {"all_reduce", "broadcast", "nccl"}},
      {"topologies", {"dgx1v", "single_switch", "ib_edr"}},
      {"profiles", {"resnet50/v100-sxm2-32gb_fp32_b32"}},
      {"models", {"resnet50"}},
      {"gpus", {"v100-sxm2-32gb"}}};
  for (const auto& [what, names] : lists) {
    const auto json = place.run(std::string("list --json ") + what);
    CHECK(json.code == 0);
    std::set<std::string> found;
    for (const Json& entry : Json::parse(json.out)) found.insert(entry["name"].get<std::string>());
    const auto text = place.run(std::string("list ") + what);
    CHECK(text.code == 0);
    for (const std::string& name : names) {
      CHECK(found.count(name) == 1);
      CHECK_THAT(text.out, Catch::ContainsSubstring(name));
    }
  }
}

TEST_CASE("A model is listed with its number of parameters", "[cli][list]") {
  const Workplace place("models");
  for (const Json& entry : Json::parse(place.run("list models --json").out)) {
    // torchvision's resnet50
    if (entry["name"] == "resnet50") CHECK(entry["parameters"] == 25'557'032);
  }
}

TEST_CASE("The plan shows the buckets of DDP", "[cli][show]") {
  const Workplace place("plan");
  place.write("job.yaml", scenario());
  const auto run = place.run("show plan job.yaml");
  CHECK(run.code == 0);
  // Sizes of PyTorch 1.7's rebuilt buckets of ResNet-50 at 25 MiB (the golden ones of the strategy)
  for (const char* elements : {"2049000", "7875584", "6563840", "6637568", "2431040"}) {
    CHECK_THAT(run.out, Catch::ContainsSubstring(elements));
  }
}

TEST_CASE("The plan shows each phase of a strategy", "[cli][show]") {
  const Workplace place("plan_phases");
  place.write("job.yaml", scenario());
  const auto plan = [&](const std::string& strategy) {
    return place.run("show plan job.yaml --set strategy='" + strategy + "'").out;
  };
  const std::string power = plan("{name: powersgd}");
  CHECK_THAT(power, Catch::ContainsSubstring("\nFrom iteration 10 on, counted from 0:\n"));
  CHECK(power.find("Every iteration") == std::string::npos);
  CHECK_THAT(plan("{name: acp_sgd}"),
             Catch::ContainsSubstring("\nEvery 2 iterations, from 2 on, counted from 0:\n"));
  CHECK_THAT(plan("{name: local_sgd, start_localSGD_iter: 100}"),
             Catch::ContainsSubstring("\nFrom iteration 100 on, counted from 0:\n") &&
                 Catch::ContainsSubstring("\nEvery 4 iterations, from 100 on, counted from 0:\n"));
  CHECK_THAT(plan("{name: bsp}"), Catch::ContainsSubstring("\nEvery iteration:\n"));
}

TEST_CASE("The plan is drawn", "[cli][show]") {
  const Workplace place("plan_svg");
  place.write("job.yaml", scenario());
  CHECK(place.run("show plan job.yaml --svg plan.svg").code == 0);
  const std::string svg = place.text("plan.svg");
  CHECK_THAT(svg, Catch::ContainsSubstring("<title>group 4: "));
  CHECK(svg.find("<title>group 5: ") == std::string::npos);
}

TEST_CASE("A profile is shown by name, by file and by scenario", "[cli][show]") {
  const Workplace place("profile");
  place.write("job.yaml", scenario());
  const auto by_name = place.run("show profile resnet50/v100-sxm2-32gb_fp32_b32");
  CHECK(by_name.code == 0);
  CHECK_THAT(by_name.out, Catch::ContainsSubstring("25557032 in 161 tensors"));
  CHECK(place.run("show profile job.yaml").out == by_name.out);
  CHECK(place.run("show profile resnet51/v100-sxm2-32gb_fp32_b32").code == 3);
}

TEST_CASE("What changes a scenario is refused beside a profile or a node", "[cli][show]") {
  const Workplace place("changes");
  const auto profile = place.run("show profile resnet50/v100-sxm2-32gb_fp32_b32 --set x=1");
  CHECK(profile.code == 3);
  CHECK(profile.err ==
        "--set x=1:1:1: 'resnet50/v100-sxm2-32gb_fp32_b32' is no scenario; expected the file "
        "alone\n");
  const auto node = place.run("show topology dgx1v --point 8");
  CHECK(node.code == 3);
  CHECK(node.err == "--point 8:1:1: 'dgx1v' is no scenario; expected the file alone\n");
}

TEST_CASE("A topology is shown and drawn", "[cli][show]") {
  const Workplace place("topology");
  const auto run = place.run("show topology dgx1v");
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::ContainsSubstring("gpu7"));
  if (std::system("command -v dot > /dev/null") != 0) {
    WARN("Graphviz is not installed: nothing is drawn");
    return;
  }
  CHECK(place.run("show topology dgx1v --svg t.svg").code == 0);
  CHECK_THAT(place.text("t.svg"), Catch::ContainsSubstring("<svg "));
}

TEST_CASE("Without Graphviz the picture's error names the package", "[cli][show]") {
  const Workplace place("no_dot");
  const auto run = place.run("show topology dgx1v --svg t.svg", "PATH=/nonexistent");
  CHECK(run.code == 1);
  CHECK_THAT(run.err, Catch::ContainsSubstring("install the package 'graphviz'"));
  CHECK_FALSE(place.has("t.svg"));
}

TEST_CASE("A matrix of nvidia-smi becomes a node that check accepts and show understands",
          "[cli][import]") {
  const Workplace place("import");
  place.write("two.txt",
              "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\n"
              "GPU0\t X \tNV6\tPIX\t0-19\n"
              "GPU1\tNV6\t X \tPHB\t0-19\n"
              "mlx5_0\tPIX\tPHB\t X \n");
  const auto run = place.run("import smi-topo two.txt -o node.yaml");
  CHECK(run.code == 0);
  CHECK_THAT(run.err, Catch::ContainsSubstring("assumed: the GPUs are of model v100"));
  CHECK(place.run("check node.yaml").code == 0);
  CHECK_THAT(place.run("show topology node.yaml").out, Catch::ContainsSubstring("gpu1"));
  place.write("none.txt", "\tGPU0\tCPU Affinity\nGPU0\t X \t0-19\n");
  const auto unknown = place.run("import smi-topo none.txt -o none.yaml");
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Catch::ContainsSubstring("--gpu"));
}

TEST_CASE("Check prints nothing for good files and tells the first error of each bad one",
          "[cli][check]") {
  const Workplace place("check");
  place.write("good.yaml", scenario());
  place.write("bad.yaml", scenario("bukcet: 1\n"));
  place.write("worse.yaml", "schema: gradwire.scenario/2\n");
  const auto good = place.run("check good.yaml");
  CHECK(good.code == 0);
  CHECK((good.out + good.err).empty());
  const auto bad = place.run("check bad.yaml good.yaml worse.yaml");
  CHECK(bad.code == 3);
  CHECK_THAT(bad.err, Catch::ContainsSubstring("bad.yaml:7:1:"));
  CHECK_THAT(bad.err, Catch::ContainsSubstring("worse.yaml:1:"));
}

TEST_CASE("The completion scripts know commands and options", "[cli][completions]") {
  const Workplace place("completions");
  const std::string shell = GENERATE("bash", "zsh", "fish");
  const auto run = place.run("completions " + shell);
  CHECK(run.code == 0);
  for (const char* word : {"sweep", "ddp-json", "smi-topo"}) {
    CHECK_THAT(run.out, Catch::ContainsSubstring(word));
  }
  if (shell != "bash") return;
  place.write("try.sh", run.out +
                            "COMP_WORDS=(gradwire show pl); COMP_CWORD=2; _gradwire\n"
                            "echo \"${COMPREPLY[@]}\"\n"
                            "COMP_WORDS=(gradwire --quiet run --js); COMP_CWORD=3; _gradwire\n"
                            "echo \"${COMPREPLY[@]}\"\n");
  const auto tried = place.run("", "bash try.sh > tried.txt; true");
  CHECK(place.text("tried.txt") == "plan\n--json\n");
}

}  // namespace
}  // namespace gradwire
