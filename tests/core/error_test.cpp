#include "sim/core/error.hpp"

#include <string>
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
