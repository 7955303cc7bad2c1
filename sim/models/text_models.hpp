#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

// BART (Lewis et al., arXiv 1910.13461, section 2) as HuggingFace's modeling_bart.py builds
// BartForConditionalGeneration, in training, with unfused attention; all tables of words are one.
// Options: sequence_length (512 tokens of source and of target, at most 1024; of pre-training, as
// RoBERTa's), vocabulary (50265).
[[nodiscard]] ModelDescription bart_base(const ModelOptions& options);
[[nodiscard]] ModelDescription bart_large(const ModelOptions& options);

// BERT (Devlin et al., arXiv 1810.04805) as HuggingFace transformers 3.x (modeling_bert.py) builds
// it, in training, with unfused attention. Options: sequence_length (128, at most 512), vocabulary
// (30522), tied (true), head:
//   pretraining  both heads; the decoder runs over the masked positions only (default), as Google's
//                code and NVIDIA DeepLearningExamples do
//   pretraining_all_positions  both heads; the decoder runs over every position, as
//                BertForPreTraining of transformers does
//   mlm          the masked-language head alone, over every position (BertForMaskedLM)
//   classification  a linear layer on the pooled first token, `classes` (2) wide
//   qa           a linear layer of 2 on every token, without pooler (SQuAD)
//   none         encoder and pooler
[[nodiscard]] ModelDescription bert_base(const ModelOptions& options);
[[nodiscard]] ModelDescription bert_large(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& bert_heads();

/// Positions whose word is predicted in pre-training: 20 of 128 (google-research/bert README,
/// max_predictions_per_seq), 76 of 512 (MLPerf training reference), else 15 % of them (Devlin et
/// al., section 3.1), rounded up.
[[nodiscard]] std::int64_t bert_predictions(std::int64_t sequence_length);

// DistilBERT (Sanh et al., arXiv 1910.01108) as HuggingFace's transformers (modeling_distilbert.py)
// build it, with unfused attention: BERT's layers, half as many, without token types and pooler.
// Options: sequence_length (128, at most 512), vocabulary (30522), attention, head:
//   mlm             words over every position (DistilBertForMaskedLM), the decoder tied (default)
//   classification  a layer on the first token and two outputs (SST-2)
//   qa              a linear layer of 2 on every token (SQuAD)
//   none            the encoder
[[nodiscard]] ModelDescription distilbert_base(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& distilbert_heads();

// ELECTRA's discriminator (Clark et al., arXiv 2003.10555, appendix A), BERT's encoder without
// pooler, as HuggingFace's modeling_electra.py builds it. Options: sequence_length (512, the most),
// vocabulary (30522), head: discrimination (was each token replaced; default), qa, none.
[[nodiscard]] ModelDescription electra_base(const ModelOptions& options);
[[nodiscard]] ModelDescription electra_large(const ModelOptions& options);

/// The values of `head`, the default first.
[[nodiscard]] const std::vector<std::string>& electra_heads();

/// GNMT v2 (after Wu et al., arXiv 1609.08144): four LSTM layers of 1024 units on each side, the
/// first bidirectional, normed additive attention behind the decoder's first, residuals from the
/// third on, as NVIDIA's DeepLearningExamples (PyTorch/Translation/GNMT) build it with one table
/// for both embeddings. Options: sequence_length (32 tokens of source and of target), vocabulary
/// (32320).
[[nodiscard]] ModelDescription gnmt(const ModelOptions& options);

// GPT-2 (Radford et al. 2019) as HuggingFace transformers (modeling_gpt2.py, GPT2LMHeadModel)
// builds it, in training, with unfused attention. Options: sequence_length (1024, at most that),
// vocabulary (50257), tied (true: the head uses the table of the word embedding).
[[nodiscard]] ModelDescription gpt2(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_medium(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_large(const ModelOptions& options);
[[nodiscard]] ModelDescription gpt2_xl(const ModelOptions& options);

// Jasper 10x5 with dense residuals (Li et al., arXiv 1904.03288), which reads speech, as NVIDIA's
// DeepLearningExamples (PyTorch/SpeechRecognition/Jasper: jasper/model.py, configs/jasper10x5dr_*)
// train it on LibriSpeech, with masked convolutions. Options: sequence_length (1680 frames of 10
// ms: the longest utterance, 16.7 s, padded to 16), classes (29: the letters, space, apostrophe,
// blank).
[[nodiscard]] ModelDescription jasper(const ModelOptions& options);

// The language model LSTM-2048-512 on the One Billion Word benchmark (Jozefowicz et al., arXiv
// 1602.02410, table 1), one layer with a projection and a sampled softmax, as TensorFlow benchmarks
// of parameter servers train it (rafaljozefowicz/lm; Parallax, examples/lm1b). The gradients of
// both tables are IndexedSlices of the rows that were looked up. Options: sequence_length (20),
// vocabulary (793470).
[[nodiscard]] ModelDescription lm_1b(const ModelOptions& options);

// Language model of two LSTM layers of 1500 units on Penn Treebank ("large" of Zaremba et al.,
// arXiv 1409.2329), tensors named as in the profile of the Espresso authors. Options:
// sequence_length (35 steps), vocabulary (10000), tied (false: output and input embedding share one
// table).
[[nodiscard]] ModelDescription lstm_ptb(const ModelOptions& options);

// RoBERTa in pre-training (Liu et al., arXiv 1907.11692): BERT's encoder with other tables and one
// head over every position, as HuggingFace's RobertaForMaskedLM. Options: sequence_length (512, the
// most), vocabulary (50265).
[[nodiscard]] ModelDescription roberta_base(const ModelOptions& options);
[[nodiscard]] ModelDescription roberta_large(const ModelOptions& options);

// T5 (Raffel et al., arXiv 1910.10683, sections 2.1 and 3.1) as HuggingFace's modeling_t5.py builds
// T5ForConditionalGeneration of the first checkpoints: ReLU, RMS norms before each part, no biases,
// positions as biases of the scores, unfused attention; all tables of words are one. Options:
// sequence_length (512 tokens of source; the target has 114 in 512, as the masked spans of
// pre-training), vocabulary (32128).
[[nodiscard]] ModelDescription t5_small(const ModelOptions& options);
[[nodiscard]] ModelDescription t5_base(const ModelOptions& options);
[[nodiscard]] ModelDescription t5_large(const ModelOptions& options);

// Transformer, base and big model (Vaswani et al., arXiv 1706.03762, table 3) for WMT 2014
// English-German, as fairseq (transformer_wmt_en_de, _big) builds it: norm after the residual,
// sinusoidal positions. Options: vocabulary (37000, shared by both languages), sequence_length (32
// tokens of source and of target), tied (true: both embeddings and the output projection share one
// table, section 3.4).
[[nodiscard]] ModelDescription transformer_wmt(const ModelOptions& options);
[[nodiscard]] ModelDescription transformer_big(const ModelOptions& options);

// Transformer-XL (Dai et al., arXiv 1901.02860) on WikiText-103, base and large, as NVIDIA's
// DeepLearningExamples (PyTorch/LanguageModeling/Transformer-XL/pytorch: mem_transformer.py,
// wt103_base.yaml, wt103_large.yaml) train it: as many remembered tokens as new ones, an adaptive
// softmax whose tables are the embedding's. Option: sequence_length (192 and 384).
[[nodiscard]] ModelDescription transformer_xl_base(const ModelOptions& options);
[[nodiscard]] ModelDescription transformer_xl_large(const ModelOptions& options);

}  // namespace gradwire
