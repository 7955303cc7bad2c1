#include <string>
#include <utility>

#include "tests/calibration/kineto_text.hpp"
#include "tests/calibration/made_up_trace.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using calibration::test::kineto_text;
using calibration::test::toy_trace;
using calibration::test::ToyOptions;

constexpr const char* of_what = " --name toy --gpu v100-sxm2-32gb --batch 8 --dtype fp32";

std::string trace_text(calibration::Nanoseconds host_pause = 0, bool shapes = true) {
  ToyOptions options;
  options.shapes = shapes;
  options.host_pause = host_pause;
  return kineto_text(toy_trace(6, options));
}

TEST_CASE("A profiler's trace becomes a profile that a job runs with", "[cli][import]") {
  const Workplace place("kineto");
  place.write("trace.json", trace_text());
  const auto run = place.run(std::string("import kineto trace.json --report -o p.yaml") + of_what);
  CHECK(run.err ==
        "the trace has no properties of the GPU (deviceProperties)\n"
        "the trace has no names of modules (with_stack=True or with_modules=True)\n");
  REQUIRE(run.code == 0);
  // toy_step()'s comment: 120, 30, 60 us forward, 150, 40, 126 us backward, 10 us optimizer.
  CHECK_THAT(run.out, Catch::ContainsSubstring("3 layers, 1144 parameters in 5 tensors\n"
                                               "iteration 0.547 ms: forward 0.210, backward 0.316, "
                                               "optimizer 0.010, rest 0.011; GPU busy 0.547 ms"));
  CHECK_THAT(run.out, Catch::ContainsSubstring("closure_gpu     1.0000"));
  CHECK(place.run("check p.yaml").code == 0);
  CHECK_THAT(place.run("show profile p.yaml").out, Catch::ContainsSubstring("conv2d.1"));
  place.write("job.yaml",
              "schema: gradwire.scenario/1\nname: t\nprofile: p.yaml\n"
              "cluster: {node: dgx1v, nodes: 1, gpus_per_node: 4, fabric: {kind: single_switch, "
              "link: ib_edr}}\nstrategy: {name: ddp}\nrun: {iterations: 4, warmup: 1, seed: 1}\n");
  CHECK(place.run("run job.yaml").code == 0);
}

TEST_CASE("Operators of no known kind are layers of a profile too", "[cli][import]") {
  using calibration::test::us;
  calibration::test::MadeUpTrace made;
  for (int step = 0; step < 6; ++step) {
    const int first = 100 * step;
    const auto forward = [&](const char* op, int offset, const char* shapes) {
      made.range(
          0, op, first + offset, [&] { made.kernel(0, op, 20 * us); }, shapes);
    };
    made.range(0, "ProfilerStep#" + std::to_string(step), calibration::no_sequence, [&] {
      forward("aten::linear", 0, "[[8, 96], [10, 96], [10]]");
      forward("aten::cat", 1, "[[], []]");
      forward("aten::linear", 2, "[[8, 20], [5, 20], [5]]");
      made.meet();
      for (int offset = 2; offset >= 0; --offset) {
        made.range(1, "SomeBackward0", first + offset, [&] { made.kernel(1, "back", 30 * us); });
      }
      made.meet();
      made.range(0, "Optimizer.step#SGD.step", calibration::no_sequence,
                 [&] { made.kernel(0, "sgd", 10 * us); });
      made.meet();
    });
  }
  const Workplace place("cat");
  place.write("trace.json", kineto_text(made.trace));
  const auto run = place.run(std::string("import kineto trace.json --report -o p.yaml") + of_what);
  CHECK_THAT(run.out, Catch::ContainsSubstring("3 layers, 1075 parameters"));  // 10 x 97 + 5 x 21
  CHECK(run.code == 0);
  CHECK_THAT(place.text("p.yaml"), Catch::ContainsSubstring("name: cat.1, kind: other"));
  CHECK(place.run("check p.yaml").code == 0);
}

TEST_CASE("A trace that cannot become a profile is refused, and nothing is written",
          "[cli][import]") {
  const Workplace place("badkineto");
  place.write("trace.json", trace_text());
  place.write("idle.json", trace_text(3'000'000));
  const auto idle = place.run(std::string("import kineto idle.json -o p.yaml") + of_what);
  CHECK(idle.code == 3);
  CHECK_THAT(idle.err, Catch::ContainsSubstring("idle.json: host-bound: the GPU is busy") &&
                           Catch::ContainsSubstring("--iteration '97 ms'"));
  CHECK_FALSE(place.has("p.yaml"));
  const auto told =
      place.run(std::string("import kineto idle.json --iteration '600 us' -o p.yaml") + of_what);
  CHECK(told.code == 0);
  CHECK_THAT(place.text("p.yaml"), Catch::ContainsSubstring("p50: 600 us"));
  const auto bare =
      place.run(std::string("import kineto idle.json --iteration 600 -o q.yaml") + of_what);
  CHECK(bare.code == 3);
  CHECK_THAT(bare.err, Catch::ContainsSubstring("\n--iteration:1:1: "));
  place.write("broken.json", trace_text().substr(0, 900));
  const auto broken = place.run(std::string("import kineto broken.json -o q.yaml") + of_what);
  CHECK(broken.code == 3);
  CHECK_THAT(broken.err, Catch::StartsWith("broken.json:"));
  place.write("plain.json", trace_text(0, false));
  const auto plain = place.run(std::string("import kineto plain.json -o r.yaml") + of_what);
  CHECK(plain.code == 0);
  CHECK_THAT(plain.err, Catch::ContainsSubstring("no parameters: the trace has no shapes"));
  CHECK(place.run("check r.yaml").code == 0);
  const auto model = place.run(
      "import kineto plain.json --model resnet5 --gpu g --batch 8 --dtype fp32 -o q.yaml");
  CHECK(model.code == 3);
  CHECK_THAT(model.err, Catch::ContainsSubstring("did you mean 'resnet50'?"));
  const auto gpu =
      place.run("import kineto trace.json --gpu v100-sxm2-64gb --batch 8 --dtype fp32 -o q.yaml");
  CHECK(gpu.code == 3);
  CHECK_THAT(gpu.err, Catch::ContainsSubstring("did you mean 'v100-sxm2-"));
  const auto dtype =
      place.run("import kineto trace.json --gpu v100-sxm2-32gb --batch 8 --dtype fp8 -o q.yaml");
  CHECK(dtype.code == 3);
  CHECK_THAT(dtype.err, Catch::ContainsSubstring(
                            "--dtype:1:1: GPU 'v100-sxm2-32gb' has no 'fp8'; expected one of "));
  CHECK_FALSE(place.has("q.yaml"));
}

TEST_CASE("Execution traces, Chakra's and Nsight Systems' files are told from others",
          "[cli][import]") {
  const Workplace place("othertraces");
  place.write("other.json", "{\"a\": 1}");
  // A database has no lines.
  for (const auto& [part, place_told] :
       {std::pair<std::string, std::string>{"chakra", ":1:1"}, {"nsys", ""}}) {
    const auto run = place.run("import " + part + " other.json -o p.yaml" + of_what);
    CHECK(run.code == 3);
    CHECK_THAT(run.err, Catch::StartsWith("other.json" + place_told + ": "));
  }
  place.write("trace.json", trace_text());
  const auto et = place.run(
      std::string("import execution-trace other.json --trace trace.json -o p.yaml") + of_what);
  CHECK(et.code == 3);
  CHECK_THAT(et.err, Catch::StartsWith("other.json:1:1: no list 'nodes'"));
  CHECK_FALSE(place.has("p.yaml"));
}

}  // namespace
}  // namespace gradwire
