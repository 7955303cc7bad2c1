#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/compute_profile.hpp"

namespace gradwire::calibration {

/// Sides of each input of an operator; a scalar or a list has none.
using InputShapes = std::vector<std::vector<std::int64_t>>;

/// "conv2d" of "aten::conv2d" and of "aten::conv2d_", which works in place.
[[nodiscard]] std::string_view name_of_operator(std::string_view op);

/// Reads "[[32, 3, 224, 224], [64, 3, 7, 7], []]". Empty for a text that is none of this form, and
/// for negative sides.
[[nodiscard]] InputShapes read_shapes(std::string_view text);

/// Kind of a layer (ComputeProfile's kinds) that runs an operator such as "aten::conv2d". Of a
/// convolution it needs the weights' shape; without one it is "conv3", and `is_guess` says so.
[[nodiscard]] std::string kind_of_operator(std::string_view op, const InputShapes& shapes,
                                           bool& is_guess);

/// The trainable inputs of an operator, by their place among its inputs: weight, then bias, without
/// names but "weight" and "bias". Which of the inputs requires a gradient is not stated: a
/// convolution, a product of matrices, a normalisation and an embedding are taken to train theirs.
[[nodiscard]] std::vector<ParameterSpec> parameters_of_operator(std::string_view op,
                                                                const InputShapes& shapes);

/// 2 a multiply-accumulate of the forward pass of all samples; 0 where the operator is no product
/// or its shapes do not tell (a convolution's output: stride and padding are no shapes).
[[nodiscard]] double flops_of_operator(std::string_view op, const InputShapes& shapes);

}  // namespace gradwire::calibration
