#pragma once

#include <cstdint>
#include <string_view>

namespace gradwire {

/// How a model's code numbers its repeated blocks: "layer.3" or "encoder_layer_3", or "layer3".
enum class BlockNumbers : std::uint8_t { own_part, part_ends };

/// The block that a tensor or a layer belongs to: its name up to the first part that is a number
/// (or ends in one). "bert.encoder.layer.11.output.dense.bias" -> "bert.encoder.layer.11"; empty
/// where no part is.
[[nodiscard]] std::string_view block_of(std::string_view name, BlockNumbers numbers);

}  // namespace gradwire
