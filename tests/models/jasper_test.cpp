#include "sim/models/text_models.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

using Block = std::pair<std::int64_t, std::int64_t>;  // filters and frames of a kernel
constexpr std::array<Block, 10> blocks = {{{256, 11},
                                           {256, 11},
                                           {384, 13},
                                           {384, 13},
                                           {512, 17},
                                           {512, 17},
                                           {640, 21},
                                           {640, 21},
                                           {768, 25},
                                           {768, 25}}};

/// Weights of all convolutions, and channels of all norms: one in, five of a block and one for each
/// of what was made before, two out; the classifier's 29 letters.
std::pair<std::int64_t, std::int64_t> weights_and_norms() {
  std::vector<std::int64_t> made = {256};
  std::int64_t weights = 64 * 256 * 11 + 768 * 896 * 29 + 896 * 1024 + 1024 * 29;
  std::int64_t norms = 256 + 896 + 1024;
  for (const auto& [filters, kernel] : blocks) {
    weights += filters * kernel * (made.back() + 4 * filters);
    norms += 5 * filters;
    for (const std::int64_t before : made) {
      weights += before * filters;
      norms += filters;
    }
    made.push_back(filters);
  }
  return {weights, norms};
}

}  // namespace

TEST_CASE("Jasper has the 333 million parameters of its paper", "[models]") {
  // Li et al.: 333 M, "Jasper DR 10x5"; the equation is that of NVIDIA's jasper/model.py
  const auto [weights, norms] = weights_and_norms();
  CHECK(jasper({}).parameter_count() == weights + 2 * norms + 29);
  CHECK(jasper({}).parameter_count() == 332'632'349);
  // 3 + 50 + 55 convolutions with a norm of weight and bias each, and the classifier
  CHECK(test::parameters(jasper({})).size() == 3 * (3 + 50 + 55) + 2);
}

TEST_CASE("Each of Jasper's weights meets every second frame", "[models]") {
  const auto [weights, norms] = weights_and_norms();
  CHECK(test::forward_gflop(jasper({})) ==
        Approx(2e-9 * 840 * static_cast<double>(weights)).epsilon(1e-9));
  ModelOptions shorter;
  shorter.sequence_length = 840;
  CHECK(test::forward_gflop(jasper(shorter)) ==
        Approx(2e-9 * 420 * static_cast<double>(weights)).epsilon(1e-9));
}

TEST_CASE("Jasper's blocks register convolutions and norms before their residuals", "[models]") {
  const ModelDescription model = jasper({});
  const auto registered = test::names(model, model.registration_order);
  CHECK(std::vector<std::string>(registered.begin(), registered.begin() + 4) ==
        std::vector<std::string>{"encoder.layers.0.conv.0.weight", "encoder.layers.0.conv.1.weight",
                                 "encoder.layers.0.conv.1.bias", "encoder.layers.1.conv.0.weight"});
  // the second block adds what the first convolution and the first block made
  CHECK(test::layer(model, "encoder.layers.2.res.0.0").convolution->in_channels == 256);
  CHECK(test::layer(model, "encoder.layers.3.res.2.0").convolution->out_channels == 384);
  // masked_fill before each convolution reads and writes once
  const ModelLayer& mask = test::layer(model, "encoder.layers.1.conv.4.masked_fill");
  CHECK(mask.forward.elements == 2.0 * 256 * 840);
}
