#pragma once

namespace gradwire {

// ILSVRC 2012, as torchvision's reference training crops and labels it.
inline constexpr int imagenet_side = 224;
inline constexpr int imagenet_classes = 1000;
/// Side that Inception v3 and v4 take (Szegedy et al., arXiv 1512.00567 and 1602.07261).
inline constexpr int inception_side = 299;

// BERT: WordPiece vocabulary of bert-base-uncased; the length of pre-training's first phase
// (Devlin et al., arXiv 1810.04805, appendix A.2).
inline constexpr int bert_vocabulary = 30522;
inline constexpr int bert_sequence_length = 128;

}  // namespace gradwire
