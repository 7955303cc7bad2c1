#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/models/model.hpp"
#include "tests/source_dir.hpp"

namespace gradwire::test {

/// The parameters along the layers: index i is tensor i.
inline std::vector<ParameterSpec> parameters(const ModelDescription& model) {
  std::vector<ParameterSpec> all;
  for (const ModelLayer& layer : model.layers) {
    std::ranges::copy(layer.parameters, std::back_inserter(all));
  }
  return all;
}

inline std::vector<std::string> names(const ModelDescription& model,
                                      const std::vector<TensorId>& order) {
  const auto all = parameters(model);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const TensorId id : order) names.push_back(all.at(static_cast<std::size_t>(id)).name);
  return names;
}

inline const ModelLayer& layer(const ModelDescription& model, const std::string& name) {
  return *std::ranges::find(model.layers, name, &ModelLayer::name);
}

/// GFLOP of one sample's forward pass.
inline double forward_gflop(const ModelDescription& model) {
  double flops = 0;
  for (const ModelLayer& layer : model.layers) flops += layer.forward.flops;
  return flops * 1e-9;
}

/// Tensors in the order in which their gradients became ready, of a profile that the authors of
/// Espresso (EuroSys 2023) recorded; kept beside the repository, not everybody has them.
inline std::filesystem::path recorded_tensors(const std::string& model) {
  return std::filesystem::path(GRADWIRE_SOURCE_DIR).parent_path() / "shared" / "data" /
         "layer_profiles" / ("espresso_" + model + ".csv");
}

/// Name and elements of each row (order,tensor,elements,gap_us,ready_us).
inline std::vector<std::pair<std::string, std::int64_t>> read_recorded(
    const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::pair<std::string, std::int64_t>> rows;
  std::string line;
  std::getline(in, line);  // the header
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string order;
    std::string name;
    std::string elements;
    std::getline(fields, order, ',');
    std::getline(fields, name, ',');
    std::getline(fields, elements, ',');
    rows.emplace_back(name, std::stoll(elements));
  }
  return rows;
}

/// A decoder of two layers 64 wide, of 4 heads, a feed-forward of 128 and 32 tokens.
inline ModelOptions small_decoder(int vocabulary) {
  ModelOptions options;
  options.layers = 2;
  options.hidden = 64;
  options.heads = 4;
  options.ffn = 128;
  options.vocabulary = vocabulary;
  options.sequence_length = 32;
  return options;
}

}  // namespace gradwire::test
