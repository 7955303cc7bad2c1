#include "sim/core/error.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

using gradwire::nearest_name;

TEST_CASE("the nearest name is a few typing errors away", "[error]") {
  const std::vector<std::string> known = {"bucket_cap", "broadcast_buffers", "ddp", "wfbp"};
  CHECK(nearest_name("bukcet_cap", known) == "bucket_cap");
  CHECK(nearest_name("bucket_cap_mb", known) == "bucket_cap");
  CHECK(nearest_name("dpp", known) == "ddp");
  CHECK(nearest_name("seed", known).empty());
}

TEST_CASE("a part of a name stands for the shortest name that has it", "[error]") {
  const std::vector<std::string> gpus = {"v100-sxm2-16gb", "a100-sxm4-40gb", "v100-pcie"};
  CHECK(nearest_name("v100", gpus) == "v100-pcie");
  CHECK(nearest_name("h100", gpus).empty());
  CHECK(nearest_name("gb", gpus).empty());
  const std::vector<std::string> strategies = {"none", "ddp", "horovod", "dp"};
  CHECK(nearest_name("pytorch_ddp", strategies) == "ddp");
  // what goes on from a name is nearer than what is spelt a little like it
  const std::vector<std::string> nodes = {"g6e_48xlarge", "p5", "p5e"};
  CHECK(nearest_name("p5.48xlarge", nodes) == "p5");
  CHECK(nearest_name("resnet50_v3", std::vector<std::string>{"resnet50", "resnet50_v2"}) ==
        "resnet50_v2");
  CHECK(nearest_name("p3dn.24xlarge", std::vector<std::string>{"p3dn", "p4d"}) == "p3dn");
}

TEST_CASE("a name without its end is told with those that go on from it", "[error]") {
  const std::vector<std::string> known = {"h100-pcie-80gb", "h100-sxm5-80gb", "h800", "vit_l_16"};
  CHECK(gradwire::suggestion("h100", known) ==
        "; did you mean one of h100-pcie-80gb, h100-sxm5-80gb?");
  CHECK(gradwire::suggestion("vit_l", known) == "; did you mean 'vit_l_16'?");
  CHECK(gradwire::suggestion("h80", known) == "; did you mean 'h800'?");
}

TEST_CASE("case, dashes, underscores, points and blanks do not keep a name from being found",
          "[error]") {
  const std::vector<std::string> models = {"gpt2",       "gpt2_xl",  "bert_base",  "bert_large",
                                           "qwen2_5_7b", "resnet50", "llama3_70b", "llama3_8b"};
  for (const auto& [written, meant] :
       {std::pair{"GPT2", "gpt2"}, std::pair{"GPT 2 XL", "gpt2_xl"},
        std::pair{"gpt2-XL", "gpt2_xl"}, std::pair{"BERT_LARGE", "bert_large"},
        std::pair{"Qwen2.5-7B", "qwen2_5_7b"}, std::pair{"ResNet-50", "resnet50"},
        std::pair{"BERT-Base-Uncased", "bert_base"}}) {
    CHECK(gradwire::suggestion(written, models) == std::string("; did you mean '") + meant + "'?");
  }
  CHECK(gradwire::suggestion("Llama-3", models) == "; did you mean one of llama3_70b, llama3_8b?");
}

TEST_CASE("a name that leaves words out is told with those that have its words", "[error]") {
  const std::vector<std::string> gpus = {
      "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "t4", "l4"};
  CHECK(gradwire::suggestion("A100-80GB", gpus) ==
        "; did you mean one of a100-pcie-80gb, a100-sxm4-80gb?");
  CHECK(gradwire::suggestion("h100_sxm", gpus) == "; did you mean 'h100-sxm5-80gb'?");
  CHECK(gradwire::suggestion("NVIDIA A100-SXM4-40GB", gpus) == "; did you mean 'a100-sxm4-40gb'?");
  CHECK(gradwire::suggestion("Tesla T4", gpus) == "; did you mean 't4'?");
  CHECK(gradwire::suggestion("", gpus).empty());
}
