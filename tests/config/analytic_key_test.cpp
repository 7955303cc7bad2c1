#include "sim/config/profile/analytic_key.hpp"

#include <algorithm>
#include <string>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/config/scenario.hpp"
#include "sim/models/analytic_profile.hpp"
#include "tests/catch.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/scratch_folder.hpp"

using namespace gradwire;
using namespace gradwire::config;
using Catch::Matchers::Contains;

namespace {

class ProfileFixture : public ConfigFixture {
 protected:
  [[nodiscard]] Scenario read(const std::string& profile) const {
    return read_scenario(write(good), {"profile=" + profile}).front();
  }
  static bool warns(const Scenario& scenario, const std::string& code) {
    return std::ranges::any_of(scenario.warnings,
                               [&](const Warning& warning) { return warning.code == code; });
  }
};

}  // namespace

TEST_CASE_METHOD(ProfileFixture,
                 "a model's profile is the recording that ships, unless more is said of the model",
                 "[config][profile]") {
  const Scenario recorded = read("{model: tiny, gpu: small-gpu, batch_per_gpu: 4, dtype: fp32}");
  CHECK(recorded.profile->source.kind == "recorded");
  CHECK_FALSE(warns(recorded, "analytic-profile"));

  const Scenario counted =
      read("{model: resnet50, gpu: big-gpu, batch_per_gpu: 4, dtype: fp32, image_size: 64}");
  CHECK(counted.profile->source.kind == "analytic");
  CHECK(counted.profile->batch_per_gpu == 4);
  CHECK(counted.profile->parameter_count() == 25'557'032);  // torchvision
  CHECK(counted.gpu.name == "big-gpu");
  CHECK(warns(counted, "analytic-profile"));
  CHECK_FALSE(warns(counted, "memory"));

  const std::string own = config::data_file(DataKind::gpu, "big-gpu").string();
  const Scenario by_file =
      read("{model: resnet50, gpu: " + own + ", batch_per_gpu: 4, dtype: fp32, image_size: 64}");
  CHECK(by_file.profile->iteration == counted.profile->iteration);
}

TEST_CASE_METHOD(ProfileFixture,
                 "a recording serves for up to twice its batch, derived, and for no smaller one",
                 "[config][profile]") {
  const auto tiny = [&](int batch) {
    return read(
        "{model: tiny, gpu: small-gpu, dtype: fp32, batch_per_gpu: " + std::to_string(batch) + "}");
  };
  const Scenario twice = tiny(8);
  CHECK(twice.profile->source.kind == "derived");
  CHECK(twice.profile->batch_per_gpu == 8);
  CHECK(warns(twice, "derived-profile"));
  // tiny is no model that could be counted: beyond, there is nothing.
  CHECK_THROWS_WITH(tiny(9), Contains("tiny"));
  CHECK_THROWS_WITH(tiny(3), Contains("tiny"));
}

TEST_CASE_METHOD(ProfileFixture, "between two recordings a batch is on the line through them",
                 "[config][profile]") {
  setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR, 1);
  const YamlValue job =
      parse_yaml("{model: gpt2, gpu: h100-sxm5-80gb, batch_per_gpu: 24, dtype: bf16}", "job.yaml");
  YamlMap map(job);
  std::vector<Warning> warnings;
  // 68.157 ms of 8, 243.720 of 32
  CHECK(read_model_profile(map, warnings).iteration.count() ==
        Approx(68.157e-3 + (243.720e-3 - 68.157e-3) * 16 / 24).epsilon(1e-4));
}

TEST_CASE_METHOD(ProfileFixture, "what backward makes again takes time, and is of numbered blocks",
                 "[config][profile]") {
  const std::string job = ", gpu: big-gpu, batch_per_gpu: 1, dtype: fp32, recompute: ";
  const Scenario none = read("{model: gpt2" + job + "none}");
  const Scenario full = read("{model: gpt2" + job + "full}");
  CHECK(full.profile->backward() > none.profile->backward());
  CHECK(*full.profile->activations < *none.profile->activations);
  CHECK(full.profile->recomputed_flops > 0);
  CHECK(none.profile->recomputed_flops == 0);
  CHECK_THROWS_WITH(read("{model: vgg16" + job + "full}"),
                    Contains("'recompute' beside model vgg16, which has no numbered blocks"));
  const Scenario half = read("{model: gpt2" + job + "full, recompute_layers: 6}");
  CHECK(half.profile->recomputed_flops == Approx(full.profile->recomputed_flops / 2));  // of 12
  CHECK_THROWS_WITH(read("{model: gpt2" + job + "full, recompute_layers: 13}"),
                    Contains("'recompute_layers' is 13; expected at most the 12 blocks of gpt2"));
  CHECK_THROWS_WITH(read("{model: gpt2" + job + "none, recompute_layers: 6}"),
                    Contains("'recompute_layers' without anything that is made again"));
}

TEST_CASE_METHOD(ProfileFixture, "8 bits and half weights need a GPU and a type that have them",
                 "[config][profile]") {
  setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR, 1);
  const auto job = [&](const std::string& gpu, const std::string& rest) {
    return read("{model: gpt2, batch_per_gpu: 1, gpu: " + gpu + rest + "}");
  };
  CHECK_THROWS_WITH(job("a100-sxm4-80gb", ", dtype: bf16, fp8_recipe: delayed"),
                    Contains("a100-sxm4-80gb multiplies nothing in 8 bits"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: bf16, fp8_recipe: nvfp4"),
                    Contains("not modelled yet: nvfp4, products in 4 bits"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: bf16, lora: {rank: 8}"),
                    Contains("not modelled yet: lora; expected no such key"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: tf32, fp8_recipe: delayed"),
                    Contains("'fp8_recipe' beside 'dtype' tf32; expected fp16 or bf16"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: fp32, master_weights: false"),
                    Contains("'master_weights' beside 'dtype' fp32"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: bf16, framework: tf, fp8_recipe: delayed"),
                    Contains("'fp8_recipe' beside framework 'tf'"));
  CHECK_THROWS_WITH(job("h100-sxm5-80gb", ", dtype: fp16, batchnorm_spatial_persistent: true"),
                    Contains("'batchnorm_spatial_persistent' beside framework 'pytorch-eager'"));
}

TEST_CASE_METHOD(ProfileFixture, "GradScaler needs fp16 whose gradients are in fp32",
                 "[config][profile]") {
  setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR, 1);
  const auto job = [&](const std::string& rest) {
    return read("{model: gpt2, batch_per_gpu: 1, gpu: h100-sxm5-80gb, " + rest + "}");
  };
  CHECK_THROWS_WITH(
      job("dtype: bf16, grad_scaler: true"),
      Contains("'grad_scaler' beside 'dtype' bf16; expected fp16 whose gradients are in fp32"));
  CHECK_THROWS_WITH(job("dtype: fp16, master_weights: false, grad_scaler: true"),
                    Contains("'grad_scaler' beside 'master_weights' false"));
  CHECK_THROWS_WITH(job("dtype: fp16, framework: tf, grad_scaler: true"),
                    Contains("'grad_scaler' beside framework 'tf'"));
  const auto counted = [](const std::string& rest) {
    const YamlValue value =
        parse_yaml("{model: gpt2, batch_per_gpu: 1, gpu: h100-sxm5-80gb, dtype: fp16" + rest + "}",
                   "job.yaml");
    YamlMap map(value);
    const AnalyticJob of = read_analytic_job(map);
    return analytic_profile(shipped_hosts(), of.model, of.gpu, of.batch, of.dtype, of.options);
  };
  const ComputeProfile without = counted("");
  const ComputeProfile with = counted(", grad_scaler: true");
  CHECK(counted(", grad_scaler: false").unscale == std::nullopt);
  // 8 bytes of each gradient, where the optimizer moves optimizer_bytes_per_parameter and 12 of
  // casts.
  const auto moved = static_cast<double>(without.optimizer_bytes_per_parameter.count()) + 12;
  CHECK(with.unscale->count() == Approx(without.optimizer.count() * 8 / moved));
}

TEST_CASE_METHOD(ProfileFixture, "gradients are of the weights' type unless the strategy says more",
                 "[config][profile]") {
  const auto bytes = [&](const std::string& master_weights, const std::string& strategy) {
    const Scenario scenario =
        read_scenario(write(good), {"profile={model: gpt2, gpu: big-gpu, batch_per_gpu: 1, "
                                    "dtype: fp16, master_weights: " +
                                        master_weights + "}",
                                    "strategy=" + strategy})
            .front();
    JobView job;
    job.world_size = 2;
    job.machines = 2;
    job.machine_of = {0, 1};
    job.tensors = {{"matrix", 1000, 0, {100, 10}}};
    job.gradient_order = {0};
    job.dtype = scenario.profile->dtype;
    std::int64_t all = 0;
    for (const PlanGroup& group : scenario.make_strategy(job)->plan(1)) all += group.size.count();
    return all;
  };
  CHECK(bytes("true", "{name: ddp}") == 4000);
  CHECK(bytes("false", "{name: ddp}") == 2000);
  CHECK(bytes("false", "{name: ddp, gradient_dtype: fp32}") == 4000);
  // DeepSpeed and Megatron make the model one of the profile's type: gradients and parameters.
  CHECK(bytes("true", "{name: deepspeed}") == 2 * 2000);
  CHECK(bytes("true", "{name: deepspeed, gradient_dtype: fp32}") == 2 * 4000);
  // FSDP gathers the shards of its one unit, the root, once, and reduces gradients once.
  CHECK(bytes("true", "{name: fsdp}") == 4000 + 4000);
  CHECK(bytes("false", "{name: fsdp}") == 2000 + 2000);
  CHECK(bytes("false", "{name: fsdp2}") == 2000 + 2000);
  CHECK(bytes("false", "{name: fsdp, reduce_dtype: fp32}") == 2000 + 4000);
  CHECK(bytes("false", "{name: fsdp, param_dtype: fp32}") == 4000 + 4000);
  const std::int64_t whole = bytes("true", "{name: megatron, params_dtype: fp32}");
  CHECK(bytes("true", "{name: megatron}") == whole / 2);
  CHECK(bytes("true", "{name: megatron, accumulate_allreduce_grads_in_fp32: true}") ==
        whole / 2 + whole / 4);
}

TEST_CASE_METHOD(ProfileFixture, "an iteration time scales an analytic profile, which says so",
                 "[config][profile]") {
  const Scenario s =
      read("{model: resnet50, gpu: big-gpu, batch_per_gpu: 8, dtype: fp32, iteration_time: 50 ms}");
  CHECK(s.profile->source.kind == "analytic-scaled");
  CHECK(s.profile->iteration.count() == Approx(50e-3));
  // Not that counted times may be off by 15 %: the sum is the user's.
  CHECK(s.warnings.front().text ==
        "no recording of resnet50 on big-gpu, fp32, batch 8, as asked for: its times are shares of "
        "'iteration_time' that are counted from the model");
}

TEST_CASE_METHOD(ProfileFixture, "a file's profile is derived for another GPU, batch and type",
                 "[config][profile]") {
  const Scenario same = read("{file: tiny/small-gpu_fp32_b4, gpu: small-gpu, batch_per_gpu: 4}");
  CHECK(same.profile->source.kind == "recorded");
  CHECK_FALSE(warns(same, "derived-profile"));

  const Scenario other =
      read("{file: tiny/small-gpu_fp32_b4, gpu: big-gpu, batch_per_gpu: 8, dtype: fp16}");
  CHECK(other.profile->source.kind == "derived");
  CHECK(other.profile->gpu == "big-gpu");
  CHECK(other.profile->batch_per_gpu == 8);
  CHECK(other.profile->dtype == "fp16");
  CHECK(other.gpu.name == "big-gpu");
  CHECK_THAT(other.profile->source.notes, Contains("from batch 4 to 8") &&
                                              Contains("from small-gpu to big-gpu") &&
                                              Contains("from fp32 to fp16"));
  CHECK(warns(other, "derived-profile"));
}

TEST_CASE_METHOD(ProfileFixture, "a shape becomes a profile with GPU, batch, type and a time",
                 "[config][profile]") {
  const std::string file = write(
      "schema: gradwire.compute_profile/1\nmodel: two\nsource: {kind: imported}\nlayers:\n"
      "  - {name: a, kind: other, forward: 1 us, backward: 2 us}\n"
      "  - {name: b, kind: other, forward: 3 us, backward: 4 us}\n",
      "shape.yaml");
  const std::string rest = ", gpu: big-gpu, batch_per_gpu: 8, dtype: fp16";
  const Scenario s = read("{file: " + file + rest + ", iteration_time: 50 ms}");
  CHECK(s.profile->gpu == "big-gpu");
  CHECK(s.profile->batch_per_gpu == 8);
  CHECK(s.profile->dtype == "fp16");
  // 50 ms for 1 + 2 + 3 + 4 parts
  CHECK(s.profile->layers[1].backward.count() == Approx(20e-3));
  CHECK_THROWS_WITH(read("{file: " + file + rest + "}"),
                    Contains("missing key 'iteration_time'; expected what an iteration on one GPU "
                             "takes: the file gives only ratios of times"));
  CHECK_THROWS_WITH(read("{file: " + file + ", gpu: big-gpu, iteration_time: 50 ms}"),
                    Contains("missing key 'batch_per_gpu'"));
  CHECK_THROWS_WITH(read(file), Contains("gives only ratios of times; expected {file: "));
}

TEST_CASE_METHOD(ProfileFixture, "mistakes in an analytic profile are reported where they stand",
                 "[config][profile][errors]") {
  const auto failing = [&](const std::string& extra, const std::string& message) {
    CHECK_THROWS_WITH(read("{model: resnet50, gpu: big-gpu, batch_per_gpu: 4" + extra),
                      Contains(message));
  };
  failing("}", "missing key 'dtype'; expected one of fp32, tf32, fp16, bf16");
  failing(", dtype: bf16}",
          "'dtype' is 'bf16', which big-gpu does not have; expected one of fp32, fp16");
  failing(", dtype: fp23}",
          "'dtype' is 'fp23'; expected one of fp32, tf32, fp16, bf16; did you mean 'fp32'?");
  failing(", dtype: fp32, optimizer: adm}", "did you mean 'adam'?");
  failing(", dtype: fp32, fusion: triton}", "expected one of none, bn_relu, inductor");
  failing(", dtype: fp32, framework: pytorch-eagre}", "did you mean 'pytorch-eager'?");
  failing(", dtype: fp32, optimizer_step: foreech}", "did you mean 'foreach'?");
  failing(", dtype: fp32, framework: mxnet, optimizer_step: fused}",
          "'optimizer_step' beside framework 'mxnet'; expected pytorch-eager or pytorch-compile, "
          "which have it");
  failing(", dtype: fp32, framework: tf, autocast: true}", "'autocast' beside framework 'tf'");
  failing(", dtype: fp32, memory_format: nhwc}", "expected one of contiguous, channels_last");
  failing(", dtype: fp32, sequence_length: 128}", "'sequence_length'");
  failing(", dtype: fp32, img_size: 224}", "unknown key 'img_size'");
  CHECK_THROWS_WITH(read("{model: resnet50, gpu: small-gpu, batch_per_gpu: 4, dtype: fp32}"),
                    Contains("GPU 'small-gpu' has no efficiencies for 'fp32'"));
  CHECK_THROWS_WITH(read("{model: resnet50, gpu: bi-gpu, batch_per_gpu: 4, dtype: fp32}"),
                    Contains("did you mean 'big-gpu'?"));
  CHECK_THROWS_WITH(read("{file: tiny/small-gpu_fp32_b4, dtype: fp16}"),
                    Contains("'dtype' is 'fp16', which small-gpu does not have"));
}

TEST_CASE_METHOD(ProfileFixture,
                 "buffers are the model's, of GPT-2 a bool for each pair of positions in each "
                 "block, or as many bytes as are told",
                 "[config][profile]") {
  const std::string gpt2 = "{model: gpt2, gpu: big-gpu, batch_per_gpu: 1, dtype: fp32";
  const Scenario own = read(gpt2 + "}");
  // modeling_gpt2.py, register_buffer("bias", torch.tril(torch.ones((1024, 1024), dtype=bool)))
  CHECK(own.profile->buffers == 12);
  CHECK(own.profile->buffer_bytes == Bytes{12 * 1024 * 1024});
  // The same masks in fp32 and of 2048 positions.
  const Scenario told = read(gpt2 + ", buffers: 201326592 B}");
  CHECK(told.profile->buffer_bytes == Bytes{201'326'592});
  CHECK(told.profile->iteration == own.profile->iteration);
  CHECK(read(gpt2 + ", buffers: 0 B}").profile->buffer_elements == 0);
  CHECK(read("{file: tiny/small-gpu_fp32_b4, buffers: 8 B}").profile->buffer_bytes == Bytes{8});
}

namespace {

bool warned_of(const std::string& code, const std::string& profile) {
  const test::ScratchFolder folder;
  const std::string file = folder.write(
      "schema: gradwire.scenario/1\n"
      "cluster: {node: host_1gpu}\n"
      "profile: {" +
          profile + "}\nstrategy: {name: ddp}\n",
      "s.yaml");
  return std::ranges::any_of(read_scenario(file, {}).front().warnings,
                             [&](const Warning& warning) { return warning.code == code; });
}

}  // namespace

TEST_CASE("fp32 where frameworks take TF32 is pointed out", "[config][profile]") {
  const auto pointed_out = [](const std::string& gpu_and_type) {
    return warned_of("fp32-without-tf32",
                     "model: resnet50, batch_per_gpu: 8, gpu: " + gpu_and_type);
  };
  CHECK(pointed_out("a100-sxm4-40gb, dtype: fp32"));
  CHECK_FALSE(pointed_out("a100-sxm4-40gb, dtype: tf32"));
  CHECK_FALSE(pointed_out("v100-sxm2-16gb, dtype: fp32"));
  // A measured iteration is as it ran.
  CHECK_FALSE(pointed_out("a100-sxm4-40gb, dtype: fp32, iteration_time: 30 ms"));
}

TEST_CASE("mixed precision that takes longer than TF32 is pointed out", "[config][profile]") {
  const auto pointed_out = [](const std::string& more) {
    return warned_of("half-precision-slower",
                     "model: bert_base, gpu: h100-sxm5-80gb, sequence_length: 128, " + more);
  };
  // Measured on three hosts: 20 to 31 % longer in bf16 than in TF32 (host_iterations.csv).
  CHECK(pointed_out("batch_per_gpu: 8, dtype: bf16"));
  CHECK_FALSE(pointed_out("batch_per_gpu: 8, dtype: tf32"));
  CHECK_FALSE(pointed_out("batch_per_gpu: 256, dtype: bf16"));  // the GPU binds
  // A model that is in two bytes itself has no casts, and an iteration that is given is as it ran.
  CHECK_FALSE(pointed_out("batch_per_gpu: 8, dtype: bf16, master_weights: false"));
  CHECK_FALSE(pointed_out("batch_per_gpu: 8, dtype: bf16, iteration_time: 50 ms"));
}

TEST_CASE("batch norms that nobody stated are pointed out where TensorFlow runs them in halves",
          "[config][profile]") {
  const auto pointed_out = [](const std::string& more) {
    return warned_of("batch-norms-assumed", "gpu: v100-sxm2-16gb, batch_per_gpu: 64, " + more);
  };
  CHECK(pointed_out("model: resnet50, framework: tf, dtype: fp16"));
  for (const char* other :
       {"model: resnet50, framework: tf, dtype: fp32",      // reads them alike (DLPerf)
        "model: resnet50, framework: tf-xla, dtype: fp16",  // has kernels of its own
        "model: resnet50, dtype: fp16, memory_format: channels_last",
        "model: vgg16, framework: tf, dtype: fp16",  // has no norms
        "model: resnet50, framework: tf, dtype: fp16, batchnorm_spatial_persistent: true",
        "model: resnet50, framework: tf, dtype: fp16, batchnorm_spatial_persistent: false",
        "model: resnet50, framework: tf, dtype: fp16, iteration_time: 90 ms"}) {
    CAPTURE(other);
    CHECK_FALSE(pointed_out(other));
  }
}

TEST_CASE("attention that nobody stated is pointed out where PyTorch runs it, with both times",
          "[config][profile]") {
  const auto pointed_out = [](const std::string& more) {
    return warned_of("attention-assumed",
                     "gpu: a100-sxm4-40gb, batch_per_gpu: 8, dtype: bf16, " + more);
  };
  CHECK(pointed_out("model: gpt2"));
  CHECK(pointed_out("model: gpt2, framework: pytorch-compile"));
  CHECK(pointed_out("model: bert_base"));
  for (const char* stated :
       {"model: gpt2, attention: flash", "model: gpt2, attention: eager",
        "model: gpt2, framework: tf-xla", "model: gpt2, iteration_time: 90 ms",
        "model: t5_base",      // has no such kernel in transformers: biases of the scores
        "model: llama3_8b",    // is in one kernel
        "model: vit_b_16"}) {  // torchvision's is nn.MultiheadAttention, in any release
    CAPTURE(stated);
    CHECK_FALSE(pointed_out(stated));
  }
}
