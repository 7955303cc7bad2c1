#include "sim/models/text_models.hpp"
#include "sim/config/profile/model_entries.hpp"
#include "sim/models/defaults.hpp"

namespace gradwire::config {
namespace {

/// @param flash  whose attention is in one kernel.
KeyInfo eager_attention(const std::string& flash = "transformers from 4.48 on by default") {
  return {"attention", "eager", "scores in memory; flash: as " + flash};
}

Parameters bert_options() {
  Parameters parameters = {
      {"sequence_length", std::to_string(bert_sequence_length),
       "tokens, at most 512; first phase of pre-training, Devlin et al., appendix A.2"},
      {"vocabulary", std::to_string(bert_vocabulary), "WordPiece of bert-base-uncased"},
      {"classes", "2", "of the head 'classification'"},
      eager_attention("transformers from 4.41 on by default"),
      {"tied", "true", "decoder and word embedding share one tensor, which is ready last"}};
  return with_heads(parameters, bert_heads(), "pretraining decodes the masked positions only");
}

Parameters distilbert_options() {
  return with_heads(
      {{"sequence_length", std::to_string(bert_sequence_length), "tokens, at most 512; as BERT's"},
       {"vocabulary", std::to_string(bert_vocabulary), "WordPiece, as BERT's"},
       eager_attention()},
      distilbert_heads(), "mlm decodes every position");
}

Parameters electra_options() {
  return with_heads({{"sequence_length", std::to_string(bert_positions), "tokens, the most"},
                     {"vocabulary", std::to_string(bert_vocabulary), "WordPiece, as BERT's"},
                     eager_attention()},
                    electra_heads(), "discrimination tells which tokens were replaced");
}

Parameters text_options(int length, const std::string& length_source, int vocabulary,
                        const std::string& vocabulary_source) {
  return {{"sequence_length", std::to_string(length), length_source},
          {"vocabulary", std::to_string(vocabulary), vocabulary_source}};
}

Parameters roberta_options() {
  Parameters parameters =
      text_options(bert_positions, "tokens, the most", roberta_vocabulary, "Liu et al. 2019");
  parameters.push_back(eager_attention());
  return parameters;
}

Parameters bart_options() {
  Parameters parameters =
      text_options(bert_positions, "tokens of source and of target; assumed, as RoBERTa's",
                   roberta_vocabulary, "bart-base of HuggingFace");
  parameters.push_back(eager_attention());
  return parameters;
}

Parameters t5_options() {
  return text_options(t5_sequence_length, "tokens of source, 114 in 512 of target; Raffel et al.",
                      t5_vocabulary, "t5-small of HuggingFace");
}

Parameters gnmt_options() {
  return text_options(wmt_sequence_length,
                      "tokens of source and of target; assumed, near the mean of WMT",
                      gnmt_vocabulary, "NVIDIA's DeepLearningExamples");
}

Parameters gpt2_options() {
  return {
      {"sequence_length", std::to_string(gpt2_positions), "tokens, the most; Radford et al. 2019"},
      {"vocabulary", std::to_string(gpt2_vocabulary), "byte pairs, Radford et al. 2019"},
      eager_attention("nanoGPT's with PyTorch 2, transformers' from 4.42 on by default"),
      {"tied", "true", "head and word embedding share one tensor, which is ready last"}};
}

Parameters transformer_options() {
  return {{"sequence_length", std::to_string(wmt_sequence_length),
           "tokens of source and of target; assumed, near the mean of WMT 2014"},
          {"vocabulary", std::to_string(wmt_vocabulary), "Vaswani et al., section 5.1"},
          {"tied", "true", "both embeddings and the projection share one tensor, section 3.4"}};
}

Parameters transformer_xl_options(int length) {
  return {{"sequence_length", std::to_string(length),
           "new tokens, and as many remembered; NVIDIA's DeepLearningExamples"}};
}

Parameters lstm_options() {
  return {{"sequence_length", std::to_string(ptb_steps), "steps; Zaremba et al., section 4.1"},
          {"vocabulary", std::to_string(ptb_vocabulary), "Penn Treebank"},
          {"tied", "false", "decoder and embedding have a table each"}};
}

}  // namespace

std::vector<ModelEntry> text_models() {
  return {
      {"bert_base", "BERT, 12 layers 768 wide", bert_options(), bert_base, 0, bert_positions,
       bert_heads()},
      {"bert_large", "BERT, 24 layers 1024 wide", bert_options(), bert_large, 0, bert_positions,
       bert_heads()},
      {"distilbert_base", "DistilBERT, 6 layers 768 wide", distilbert_options(), distilbert_base, 0,
       bert_positions, distilbert_heads()},
      {"roberta_base", "RoBERTa, 12 layers 768 wide", roberta_options(), roberta_base, 0,
       bert_positions},
      {"roberta_large", "RoBERTa, 24 layers 1024 wide", roberta_options(), roberta_large, 0,
       bert_positions},
      {"electra_base", "ELECTRA's discriminator, 12 layers 768 wide", electra_options(),
       electra_base, 0, bert_positions, electra_heads()},
      {"electra_large", "ELECTRA's discriminator, 24 layers 1024 wide", electra_options(),
       electra_large, 0, bert_positions, electra_heads()},
      {"bart_base", "BART, 6 and 6 layers 768 wide", bart_options(), bart_base, 0, bart_positions},
      {"bart_large", "BART, 12 and 12 layers 1024 wide", bart_options(), bart_large, 0,
       bart_positions},
      {"t5_small", "T5, 6 and 6 layers 512 wide", t5_options(), t5_small},
      {"t5_base", "T5, 12 and 12 layers 768 wide", t5_options(), t5_base},
      {"t5_large", "T5, 24 and 24 layers 1024 wide", t5_options(), t5_large},
      {"gpt2", "GPT-2, 12 layers 768 wide", gpt2_options(), gpt2, 0, gpt2_positions},
      {"gpt2_medium", "GPT-2, 24 layers 1024 wide", gpt2_options(), gpt2_medium, 0, gpt2_positions},
      {"gpt2_large", "GPT-2, 36 layers 1280 wide", gpt2_options(), gpt2_large, 0, gpt2_positions},
      {"gpt2_xl", "GPT-2, 48 layers 1600 wide", gpt2_options(), gpt2_xl, 0, gpt2_positions},
      {"transformer_wmt", "Transformer base, English-German", transformer_options(),
       transformer_wmt},
      {"transformer_big", "Transformer big, English-German", transformer_options(),
       transformer_big},
      {"transformer_xl_base", "Transformer-XL, 16 layers 512 wide, WikiText-103",
       transformer_xl_options(transformer_xl_base_length), transformer_xl_base},
      {"transformer_xl_large", "Transformer-XL, 18 layers 1024 wide, WikiText-103",
       transformer_xl_options(transformer_xl_large_length), transformer_xl_large},
      {"gnmt", "GNMT, 4 and 4 LSTM layers 1024 wide", gnmt_options(), gnmt},
      {"lstm_ptb", "language model of two LSTM layers, 1500 wide", lstm_options(), lstm_ptb},
      {"lm_1b", "language model of one LSTM layer, 2048 wide, sampled softmax",
       text_options(lm_1b_steps, "steps; rafaljozefowicz/lm", lm_1b_vocabulary,
                    "One Billion Word benchmark"),
       lm_1b},
      {"jasper",
       "Jasper 10x5, dense residual, speech",
       {{"sequence_length", std::to_string(jasper_frames),
         "frames of 10 ms; the longest utterance of 16.7 s"},
        {"classes", std::to_string(jasper_classes), "characters and the blank"}},
       jasper},
  };
}

}  // namespace gradwire::config
