#pragma once

namespace gradwire {

// ILSVRC 2012, as torchvision's reference training crops and labels it.
inline constexpr int imagenet_side = 224;
inline constexpr int imagenet_classes = 1000;
// CIFAR-10 (Krizhevsky 2009).
inline constexpr int cifar_side = 32;
inline constexpr int cifar_classes = 10;
/// Side that Inception v3 and v4 take (Szegedy et al., arXiv 1512.00567 and 1602.07261).
inline constexpr int inception_side = 299;
/// Side of NASNet-A's large network (Zoph et al., arXiv 1707.07012, table 2).
inline constexpr int nasnet_large_side = 331;
/// EfficientNet-B4's side (Tan and Le's code, efficientnet_builder.py), and what the second version
/// is trained with (torchvision's references/classification).
inline constexpr int efficientnet_b4_side = 380;
inline constexpr int efficientnet_v2_s_side = 300;

// COCO (Lin et al., arXiv 1405.0312): 80 kinds of objects and the background; torchvision numbers
// the kinds to 90 and resizes images to a shorter side of 800 (models/detection).
inline constexpr int coco_labels = 81;
inline constexpr int coco_numbers = 91;
inline constexpr int coco_side = 800;

// BERT: WordPiece vocabulary of bert-base-uncased; the length of pre-training's first phase
// (Devlin et al., arXiv 1810.04805, appendix A.2).
inline constexpr int bert_vocabulary = 30522;
inline constexpr int bert_sequence_length = 128;
inline constexpr int bert_positions = 512;  ///< rows of the position table: the longest sequence

// Byte pairs of RoBERTa and BART (Liu et al., arXiv 1907.11692; HuggingFace's roberta-base), and
// the longest sequence of BART (bart-base).
inline constexpr int roberta_vocabulary = 50265;
inline constexpr int bart_positions = 1024;

// T5 (Raffel et al., arXiv 1910.10683, section 3.1; t5-small of HuggingFace).
inline constexpr int t5_vocabulary = 32128;
inline constexpr int t5_sequence_length = 512;

// DiT's smaller images (Peebles and Xie, arXiv 2212.09748, table 4).
inline constexpr int dit_side = 256;
/// Stable Diffusion 1.x's (its model cards).
inline constexpr int sd_side = 512;

// Joint byte pairs of NVIDIA's GNMT, 32000 merges, as its logs print the size.
inline constexpr int gnmt_vocabulary = 32320;

// GPT-2 (Radford et al. 2019, section 2.3).
inline constexpr int gpt2_vocabulary = 50257;
inline constexpr int gpt2_positions = 1024;

// WMT 2014 English-German: "a shared source-target vocabulary of about 37000 tokens" (Vaswani et
// al., arXiv 1706.03762, section 5.1). The length is assumed: near the mean of its sentences.
inline constexpr int wmt_vocabulary = 37000;
inline constexpr int wmt_sequence_length = 32;

// WikiText-103 by word, and the tokens of a step of Transformer-XL's two sizes (NVIDIA's
// DeepLearningExamples, PyTorch/LanguageModeling/Transformer-XL: wt103_base.yaml,
// wt103_large.yaml).
inline constexpr int wikitext_vocabulary = 267735;
inline constexpr int transformer_xl_base_length = 192;
inline constexpr int transformer_xl_large_length = 384;

// Jasper on LibriSpeech: frames of 10 ms, at most 16.7 s of them, padded to a multiple of 16; 28
// characters and the blank (NVIDIA's DeepLearningExamples, jasper10x5dr_speedp-online_*.yaml).
inline constexpr int jasper_frames = 1680;
inline constexpr int jasper_classes = 29;

// One Billion Word: words that Jozefowicz et al.'s published code knows, and its steps
// (rafaljozefowicz/lm, language_model.py).
inline constexpr int lm_1b_vocabulary = 793470;
inline constexpr int lm_1b_steps = 20;

// Penn Treebank: 10k words, unrolled for 35 steps (Zaremba et al., arXiv 1409.2329, section 4.1).
inline constexpr int ptb_vocabulary = 10000;
inline constexpr int ptb_steps = 35;

}  // namespace gradwire
