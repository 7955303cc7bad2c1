#pragma once

#include <cstdint>
#include <string>

#include "sim/models/builder.hpp"

namespace gradwire {

/// An embedding and the adaptive softmax that shares its tables (Grave et al., arXiv 1609.04309;
/// Baevski and Auli, arXiv 1809.10853), by clusters of ever rarer words, as NVIDIA's Transformer-XL
/// builds them.
struct AdaptiveVocabulary {
  std::int64_t hidden = 0;
  /// By so much each cluster's vectors are narrower than the one's before it; 1: all share a table.
  std::int64_t divisor = 1;
};

/// Words of cluster `cluster`, of 4, among `length` tokens of a text: by Zipf's law (assumed).
[[nodiscard]] std::int64_t tokens_of_cluster(int cluster, std::int64_t length);

/// The vectors of `length` tokens, scaled by the root of their width.
[[nodiscard]] Activation adaptive_embedding(ModelBuilder& net, const std::string& name,
                                            std::int64_t length,
                                            const AdaptiveVocabulary& vocabulary);

/// Logits and loss: all tokens over the most frequent words and the other clusters, those of
/// another cluster over its words, too.
void adaptive_softmax(ModelBuilder& net, const std::string& name, const Activation& hidden,
                      const AdaptiveVocabulary& vocabulary);

}  // namespace gradwire
