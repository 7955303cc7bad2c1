#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/builder.hpp"

namespace gradwire {

/// What the networks of the Inception family are made of: a convolution without bias, batch norm
/// and ReLU, called NAME.conv, NAME.bn and NAME.relu.
[[nodiscard]] Activation conv_norm(ModelBuilder& net, const std::string& name,
                                   const Activation& input, const Convolution& shape);

/// One after the other, each by the name beside it.
[[nodiscard]] Activation conv_norms(
    ModelBuilder& net, Activation x,
    const std::vector<std::pair<std::string, Convolution>>& convolutions);

/// The same as an nn.Sequential: NAME.FIRST, NAME.FIRST+1, ...
[[nodiscard]] Activation conv_sequence(ModelBuilder& net, const std::string& name, Activation x,
                                       std::span<const Convolution> convolutions, int first = 0);

// Convolutions that keep height and width, and the one that halves them.
[[nodiscard]] constexpr Convolution conv1x1(std::int64_t out) {
  return {.out = out, .kernel = square(1)};
}
[[nodiscard]] constexpr Convolution conv3x3(std::int64_t out) {
  return {.out = out, .kernel = square(3), .padding = square(1)};
}
/// One row of `length`.
[[nodiscard]] constexpr Convolution row(std::int64_t out, std::int64_t length) {
  return {.out = out, .kernel = {1, length}, .padding = {0, length / 2}};
}
/// One column of `length`.
[[nodiscard]] constexpr Convolution column(std::int64_t out, std::int64_t length) {
  return {.out = out, .kernel = {length, 1}, .padding = {length / 2, 0}};
}
[[nodiscard]] constexpr Convolution conv3x3_half(std::int64_t out) {
  return {.out = out, .kernel = square(3), .stride = 2};
}

/// 3 x 3, stride 1: keeps height and width.
inline constexpr Pooling pool3x3 = {.kernel = square(3), .padding = square(1)};
inline constexpr Pooling pool3x3_half = {.kernel = square(3), .stride = 2};

}  // namespace gradwire
