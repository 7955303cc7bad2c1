#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/models/model.hpp"

namespace gradwire {

/// Attention whose keys and values come from one narrow vector a token (multi-head latent
/// attention; DeepSeek-V2, arXiv 2405.04434, section 2.1).
struct LatentShape {
  std::int64_t query_rank = 0;  ///< features that queries are made of
  std::int64_t kv_rank = 0;     ///< features that keys and values are made of
  std::int64_t nope_size = 0;   ///< features of a head's key and query without positions
  std::int64_t rope_size = 0;   ///< with rotary positions; the key's are shared by the heads
  std::int64_t value_size = 0;  ///< features of a head's value
};

/// A decoder-only language model: embedding, `layers` times norm, attention, norm, feed-forward
/// block, each with a residual; norm and output layer.
struct DecoderShape {
  enum class Activation : std::uint8_t {
    swiglu,
    gelu,
    gelu_operators,  ///< of BLOOM: its tanh approximation operator by operator
  };
  enum class Norm : std::uint8_t { rms, layer, layer_without_bias };
  enum class Positions : std::uint8_t { rope, learned, alibi };
  enum class Attention : std::uint8_t { flash, eager };

  std::string name = {};
  std::string summary = {};  ///< one line
  std::string source;        ///< publication and configuration that it follows
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;  ///< 0: hidden / heads
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
  std::int64_t sequence_length = 0;  ///< that it was trained with
  Activation activation = Activation::swiglu;
  Norm norm = Norm::rms;
  Positions positions = Positions::rope;
  Attention attention = Attention::flash;
  std::int64_t position_rows = 0;  ///< of the table of learned positions; 0: sequence_length
  bool tied = false;               ///< output and input embedding share one tensor
  bool bias = false;               ///< in every linear layer of the blocks
  bool qkv_bias = false;           ///< in the projections before attention alone
  bool joined_qkv = false;         ///< one projection for queries, keys and values
  bool embedding_norm = false;     ///< a norm behind the embedding (BLOOM)
  bool head_norm = false;          ///< an RMS norm of each head's query and key (Qwen3)
  bool dropout = false;            ///< of what attention and feed-forward block give (OPT)
  ExpertShape experts = {};
  std::optional<LatentShape> latent = {};
};

/// The shape with the options that are given. Of what is not: `ffn` beside another `hidden` is 4
/// times that, with swiglu 8/3 times, rounded up to a multiple of 256 (Llama's rule); `kv_heads` of
/// a shape that has as many as heads are the new heads.
[[nodiscard]] DecoderShape with_options(DecoderShape shape, const ModelOptions& options);

/// Why no decoder has this shape; nullopt if one can.
[[nodiscard]] std::optional<OptionProblem> problem_of(const DecoderShape& shape);

/// Its layers. RMS norms, rotary positions and swiglu are those of HuggingFace's code, operator by
/// operator, and one kernel each way where the framework compiles; attention as `attention` says.
/// Experts are one grouped product a weight, balanced: every token through `active` of them, every
/// weight read.
/// REQUIRES: no problem_of(shape).
[[nodiscard]] ModelDescription decoder(const DecoderShape& shape);

}  // namespace gradwire
