#include "calibration/attribution/layer_ops.hpp"

#include <string>

#include "tests/catch.hpp"

namespace gradwire::calibration {
namespace {

std::string kind_of(std::string_view op, const InputShapes& shapes = {}) {
  bool is_guess = false;
  return kind_of_operator(op, shapes, is_guess);
}

TEST_CASE("An operator of no known name is of the kind 'other'", "[calibration]") {
  const auto* const op =
      GENERATE("aten::copy_", "aten::cat", "aten::view", "aten::transpose", "MyCustomOp", "");
  CAPTURE(op);
  CHECK(kind_of(op) == "other");
}

TEST_CASE("An operator's name tells its kind, in place or not", "[calibration]") {
  CHECK(kind_of("aten::mm") == "linear");
  CHECK(kind_of("aten::addmm") == "linear");
  CHECK(kind_of("aten::relu_") == "act");
  CHECK(kind_of("aten::add_") == "add");
  CHECK(kind_of("aten::_softmax") == "softmax");
  CHECK(kind_of("aten::cross_entropy_loss") == "softmax");
  CHECK(kind_of("aten::nll_loss") == "softmax");
  CHECK(kind_of("aten::hardtanh") == "act");
  CHECK(kind_of("aten::native_layer_norm") == "norm");
}

TEST_CASE("Shapes tell convolutions apart, and without them it is a guess", "[calibration]") {
  CHECK(kind_of("aten::conv2d", {{8, 6, 4, 4}, {12, 6, 1, 1}}) == "conv1");
  CHECK(kind_of("aten::conv2d", {{8, 6, 4, 4}, {12, 6, 3, 3}}) == "conv3");
  CHECK(kind_of("aten::conv2d", {{8, 6, 9, 9}, {12, 6, 7, 7}}) == "conv7");
  CHECK(kind_of("aten::conv2d", {{8, 6, 4, 4}, {12, 2, 3, 3}}) == "grouped_conv");
  bool is_guess = false;
  CHECK(kind_of_operator("aten::conv2d", {}, is_guess) == "conv3");
  CHECK(is_guess);
}

}  // namespace
}  // namespace gradwire::calibration
