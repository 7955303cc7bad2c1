#include "sim/models/decoder.hpp"

namespace gradwire {
namespace {

/// Width, depth and heads of one member of a family.
struct Size {
  const char* name;
  const char* summary;
  int layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t ffn;
};

/// @param common  what the family has alike.
void add_family(std::vector<DecoderShape>& shapes, const DecoderShape& common,
                const std::vector<Size>& sizes) {
  for (const Size& size : sizes) {
    DecoderShape shape = common;
    shape.name = size.name;
    shape.summary = size.summary;
    shape.layers = size.layers;
    shape.hidden = size.hidden;
    shape.heads = size.heads;
    shape.kv_heads = size.kv_heads;
    shape.ffn = size.ffn;
    shapes.push_back(std::move(shape));
  }
}

void add_llama(std::vector<DecoderShape>& shapes) {
  const DecoderShape two = {.source =
                                "Touvron et al., arXiv 2307.09288; config.json of "
                                "meta-llama/Llama-2",
                            .vocabulary = 32'000,
                            .sequence_length = 4096};
  add_family(shapes, two,
             {{"llama2_7b", "Llama 2, 32 layers 4096 wide", 32, 4096, 32, 32, 11'008},
              {"llama2_13b", "Llama 2, 40 layers 5120 wide", 40, 5120, 40, 40, 13'824},
              {"llama2_70b", "Llama 2, 80 layers 8192 wide", 80, 8192, 64, 8, 28'672}});
  const DecoderShape three = {.source =
                                  "Llama Team, arXiv 2407.21783, table 3; config.json of "
                                  "meta-llama/Meta-Llama-3",
                              .vocabulary = 128'256,
                              .sequence_length = 8192};
  add_family(shapes, three,
             {{"llama3_8b", "Llama 3 and 3.1, 32 layers 4096 wide", 32, 4096, 32, 8, 14'336},
              {"llama3_70b", "Llama 3 and 3.1, 80 layers 8192 wide", 80, 8192, 64, 8, 28'672},
              {"llama3_405b", "Llama 3.1, 126 layers 16384 wide", 126, 16'384, 128, 8, 53'248}});
}

/// Sliding windows are left out: at the length trained with, most tokens see all before them.
void add_mistral(std::vector<DecoderShape>& shapes) {
  DecoderShape common = {.source = "Jiang et al., arXiv 2310.06825, table 1",
                         .vocabulary = 32'000,
                         .sequence_length = 8192};
  add_family(shapes, common,
             {{"mistral_7b", "Mistral 7B, 32 layers 4096 wide", 32, 4096, 32, 8, 14'336}});
  common.source = "Jiang et al., arXiv 2401.04088, table 1";
  common.experts = {.count = 8, .active = 2, .ffn = 14'336};
  add_family(
      shapes, common,
      {{"mixtral_8x7b", "Mixtral, 32 layers 4096 wide, 2 of 8 experts", 32, 4096, 32, 8, 14'336}});
}

void add_qwen(std::vector<DecoderShape>& shapes) {
  const DecoderShape dense = {.source = "Qwen Team, arXiv 2412.15115; config.json of Qwen/Qwen2.5",
                              .vocabulary = 152'064,
                              .sequence_length = 4096,
                              .qkv_bias = true};
  add_family(shapes, dense,
             {{"qwen2_5_7b", "Qwen2.5, 28 layers 3584 wide", 28, 3584, 28, 4, 18'944},
              {"qwen2_5_72b", "Qwen2.5, 80 layers 8192 wide", 80, 8192, 64, 8, 29'568}});
  DecoderShape sparse = {.source = "Qwen Team, arXiv 2505.09388; config.json of Qwen/Qwen3",
                         .head_size = 128,
                         .vocabulary = 151'936,
                         .sequence_length = 4096,
                         .head_norm = true,
                         .experts = {.count = 128, .active = 8, .ffn = 768}};
  add_family(
      shapes, sparse,
      {{"qwen3_30b_a3b", "Qwen3, 48 layers 2048 wide, 8 of 128 experts", 48, 2048, 32, 4, 6144}});
  sparse.experts.ffn = 1536;
  add_family(shapes, sparse,
             {{"qwen3_235b_a22b", "Qwen3, 94 layers 4096 wide, 8 of 128 experts", 94, 4096, 64, 4,
               12'288}});
}

/// Without the module that predicts a second token.
void add_deepseek(std::vector<DecoderShape>& shapes) {
  const DecoderShape common = {
      .source =
          "DeepSeek-AI, arXiv 2412.19437, section 4.2; config.json of deepseek-ai/DeepSeek-V3",
      .vocabulary = 129'280,
      .sequence_length = 4096,
      .experts = {.count = 256, .active = 8, .shared = 1, .ffn = 2048, .dense_layers = 3},
      .latent = LatentShape{.query_rank = 1536,
                            .kv_rank = 512,
                            .nope_size = 128,
                            .rope_size = 64,
                            .value_size = 128}};
  add_family(shapes, common,
             {{"deepseek_v3", "DeepSeek-V3, 61 layers 7168 wide, 8 of 256 experts and a shared one",
               61, 7168, 128, 128, 18'432}});
}

/// Attention dense in every layer, where the publication alternates it with banded.
void add_gpt3(std::vector<DecoderShape>& shapes) {
  const DecoderShape common = {.source = "Brown et al., arXiv 2005.14165, table 2.1",
                               .vocabulary = 50'257,
                               .sequence_length = 2048,
                               .activation = DecoderShape::Activation::gelu,
                               .norm = DecoderShape::Norm::layer,
                               .positions = DecoderShape::Positions::learned,
                               .position_rows = 2048,
                               .tied = true,
                               .bias = true,
                               .joined_qkv = true};
  // 1.3b: the table's 24 heads of 128 features are not its 2048; 16 are. 13b: its 5140 is no
  // multiple of its 40 heads; 5120 is.
  add_family(shapes, common,
             {{"gpt3_125m", "GPT-3 Small, 12 layers 768 wide", 12, 768, 12, 12, 3072},
              {"gpt3_350m", "GPT-3 Medium, 24 layers 1024 wide", 24, 1024, 16, 16, 4096},
              {"gpt3_760m", "GPT-3 Large, 24 layers 1536 wide", 24, 1536, 16, 16, 6144},
              {"gpt3_1_3b", "GPT-3 XL, 24 layers 2048 wide", 24, 2048, 16, 16, 8192},
              {"gpt3_2_7b", "GPT-3 2.7B, 32 layers 2560 wide", 32, 2560, 32, 32, 10'240},
              {"gpt3_6_7b", "GPT-3 6.7B, 32 layers 4096 wide", 32, 4096, 32, 32, 16'384},
              {"gpt3_13b", "GPT-3 13B, 40 layers 5120 wide", 40, 5120, 40, 40, 20'480},
              {"gpt3_175b", "GPT-3, 96 layers 12288 wide", 96, 12'288, 96, 96, 49'152}});
}

void add_opt(std::vector<DecoderShape>& shapes) {
  const DecoderShape common = {
      .source = "Zhang et al., arXiv 2205.01068, table 1; HuggingFace transformers modeling_opt.py",
      .vocabulary = 50'272,
      .sequence_length = 2048,
      .activation = DecoderShape::Activation::gelu,  // ReLU there: the same work
      .norm = DecoderShape::Norm::layer,
      .positions = DecoderShape::Positions::learned,
      .position_rows = 2050,
      .tied = true,
      .bias = true};
  add_family(shapes, common,
             {{"opt_125m", "OPT, 12 layers 768 wide", 12, 768, 12, 12, 3072},
              {"opt_1_3b", "OPT, 24 layers 2048 wide", 24, 2048, 32, 32, 8192},
              {"opt_2_7b", "OPT, 32 layers 2560 wide", 32, 2560, 32, 32, 10'240},
              {"opt_6_7b", "OPT, 32 layers 4096 wide", 32, 4096, 32, 32, 16'384},
              {"opt_13b", "OPT, 40 layers 5120 wide", 40, 5120, 40, 40, 20'480},
              {"opt_30b", "OPT, 48 layers 7168 wide", 48, 7168, 56, 56, 28'672},
              {"opt_66b", "OPT, 64 layers 9216 wide", 64, 9216, 72, 72, 36'864}});
}

void add_bloom(std::vector<DecoderShape>& shapes) {
  const DecoderShape common = {.source =
                                   "BigScience, arXiv 2211.05100, table 3; HuggingFace "
                                   "transformers modeling_bloom.py",
                               .vocabulary = 250'880,
                               .sequence_length = 2048,
                               .activation = DecoderShape::Activation::gelu,
                               .norm = DecoderShape::Norm::layer,
                               .positions = DecoderShape::Positions::alibi,
                               .tied = true,
                               .bias = true,
                               .joined_qkv = true,
                               .embedding_norm = true};
  add_family(shapes, common,
             {{"bloom_560m", "BLOOM, 24 layers 1024 wide", 24, 1024, 16, 16, 4096},
              {"bloom_1b7", "BLOOM, 24 layers 2048 wide", 24, 2048, 16, 16, 8192},
              {"bloom_3b", "BLOOM, 30 layers 2560 wide", 30, 2560, 32, 32, 10'240},
              {"bloom_7b1", "BLOOM, 30 layers 4096 wide", 30, 4096, 32, 32, 16'384},
              {"bloom_176b", "BLOOM, 70 layers 14336 wide", 70, 14'336, 112, 112, 57'344}});
}

void add_mpt(std::vector<DecoderShape>& shapes) {
  DecoderShape common = {.source = "MosaicML, config.json of mosaicml/mpt-7b and mpt-30b",
                         .vocabulary = 50'432,
                         .sequence_length = 2048,
                         .activation = DecoderShape::Activation::gelu,
                         .norm = DecoderShape::Norm::layer_without_bias,
                         .positions = DecoderShape::Positions::alibi,
                         .tied = true,
                         .joined_qkv = true};
  add_family(shapes, common, {{"mpt_7b", "MPT, 32 layers 4096 wide", 32, 4096, 32, 32, 16'384}});
  common.sequence_length = 8192;
  add_family(shapes, common, {{"mpt_30b", "MPT, 48 layers 7168 wide", 48, 7168, 64, 64, 28'672}});
}

}  // namespace

const std::vector<DecoderShape>& published_decoders() {
  static const std::vector<DecoderShape> shapes = [] {
    std::vector<DecoderShape> all;
    add_llama(all);
    add_mistral(all);
    add_qwen(all);
    add_deepseek(all);
    add_gpt3(all);
    add_opt(all);
    add_bloom(all);
    add_mpt(all);
    // By its shape: what is not said is as in Llama 2's smallest.
    DecoderShape free = all.front();
    free.name = "transformer";
    free.summary = "decoder of any shape (what is not said: Llama 2 7B's)";
    all.push_back(std::move(free));
    return all;
  }();
  return shapes;
}

}  // namespace gradwire
