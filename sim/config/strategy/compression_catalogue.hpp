#pragma once

#include <string>
#include <vector>

#include "sim/config/catalogue.hpp"
#include "sim/config/strategy/strategy_catalogue.hpp"
#include "strategies/compression/compressor.hpp"
#include "strategies/knobs.hpp"

namespace gradwire::config {

struct CompressionEntry {
  std::string name;
  std::string summary;  ///< one line
  /// Reads the compression's own knobs.
  CompressorMaker (*read)(Knobs& knobs);
  /// The compressor whose measured times it takes (EncodeCosts); "": its work is always counted.
  std::string measured_as;
  bool on_cpu = true;  ///< it can encode and decode on a CPU
  std::vector<KeyInfo> parameters{};
};

/// Every compression a scenario may name. To add one, add one line to compression_catalogue.cpp.
[[nodiscard]] const std::vector<CompressionEntry>& compression_catalogue();

/// The keys of `strategy.compression`.
[[nodiscard]] Section compression_section();

/// Reads a strategy's knobs, and those of the compression that stands in `compression`.
/// @param left_out  where given, a strategy that this compression cannot go under runs without it,
///                  and why is written here.
/// @throws ConfigError without `left_out` in that case.
[[nodiscard]] StrategyMaker read_strategy(const StrategyEntry& entry, Knobs& knobs,
                                          std::string* left_out = nullptr);

/// Can this strategy, with its knobs at their defaults, be compressed?
[[nodiscard]] bool takes_compression(const StrategyEntry& entry);

/// Of this strategy's steps between two machines, with its knobs at their defaults.
[[nodiscard]] Exactness default_exactness(const StrategyEntry& entry);

}  // namespace gradwire::config
