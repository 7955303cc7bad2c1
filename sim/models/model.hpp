#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/compute_profile.hpp"

namespace gradwire {

/// A convolution of one sample.
struct ConvolutionShape {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_width = 0;
  std::int64_t stride = 1;  ///< along both axes
  std::int64_t groups = 1;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
};

/// A matrix product of one sample: (rows x depth) times (depth x columns), `count` of them.
struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t count = 1;      ///< products batched into one kernel for one sample (heads)
  bool weight_operand = true;  ///< the right operand is a parameter, shared by the samples
};

/// Attention of one sample in kernels that never write the scores.
struct FusedAttention {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;       ///< of the queries
  std::int64_t size = 0;        ///< features of a head's query and key
  std::int64_t value_size = 0;  ///< of its value
  bool causal = true;           ///< a token sees none behind it
};

/// What one direction of a layer does for one sample. Traffic of parameters is not in it.
struct LayerWork {
  double flops = 0;     ///< 2 a multiply-accumulate
  double elements = 0;  ///< of activations, read and written
  int kernels = 1;      ///< launched, without fusion
};

/// A layer's work in both passes.
struct PassWork {
  LayerWork forward;
  LayerWork backward;
};

/// Rows of a table that an iteration reads, some perhaps twice: those of each sample and those of
/// the batch as a whole.
struct TableRows {
  std::int64_t of_sample = 0;
  std::int64_t of_batch = 0;
};

/// One layer of a model: one operator that a framework runs.
struct ModelLayer {
  std::string name;  ///< the framework's module path: "layer1.0.conv1"
  std::string kind;  ///< one of ComputeProfile's kinds
  LayerWork forward;
  LayerWork backward;
  /// What fused kernels, or a compiler, make of a layer that frameworks run operator by operator;
  /// absent: the same.
  std::optional<PassWork> compiled;
  std::optional<PassWork> primitive;  ///< the same of by_primitives(), where that is more
  /// Elements of activations that its backward needs and no layer before it keeps, for a sample.
  double kept = 0;
  /// Bytes more that its backward needs, for a sample, in a type of their own: indices, what
  /// operators of one layer keep between them.
  double kept_bytes = 0;
  /// Bytes more where torch.autocast runs it: fp32 in place of half precision, a cast's result.
  double autocast_kept_bytes = 0;
  bool keeps_input = false;  ///< an activation that backward makes from its input, not its result
  double result = 0;         ///< elements that it writes, for a sample
  std::optional<ConvolutionShape> convolution;
  std::optional<MatrixShape> product;
  bool in_fp32 = false;  ///< it computes in fp32, whatever the model's type
  /// torch.autocast does so (pow is on its list), and `kept_bytes` are then of fp32.
  bool autocast_in_fp32 = false;
  bool fp8 = false;         ///< its products are of 8 bits, see in_fp8()
  bool made_again = false;  ///< backward runs its forward pass once more, see recomputed()
  std::optional<FusedAttention> fused_attention;  ///< FlashAttention
  /// Elements of its input that torch.autocast casts for it, and of their gradient back: what sums
  /// and norms leave in fp32 before a product, logits before a loss.
  double casts = 0;
  bool upcast = false;  ///< a loss whose model makes fp32 of the logits itself: logits.float()
  /// Elements of weights that one direction reads beyond once, whatever the batch: a recurrence
  /// reads its own at every step.
  double weights_read_again = 0;
  std::vector<ParameterSpec> parameters;  ///< registration order; without `ready`
  TableRows looked_up;                    ///< of the tables that are its parameters
};

/// A mixture of experts in place of a decoder's feed-forward block: each token goes through
/// `active` of `count` blocks, which a router picks, and through `shared` more that all tokens
/// share.
struct ExpertShape {
  int count = 0;  ///< 0: none, the block is dense
  int active = 0;
  int shared = 0;
  std::int64_t ffn = 0;  ///< width of one expert
  int every = 1;         ///< of so many layers the last has experts
  int dense_layers = 0;  ///< so many first layers have none
};

/// The layer's parameters, of which gradients of a batch are sparse where they are of tables that
/// no other layer shares.
[[nodiscard]] std::vector<ParameterSpec> with_sparse_rows(const ModelLayer& layer, int batch);

/// What a user may choose of a model; absent: the publication's value.
struct ModelOptions {
  std::optional<int> image_size;       ///< pixels along each side
  std::optional<int> sequence_length;  ///< tokens
  std::optional<int> vocabulary;
  std::optional<int> classes;       ///< outputs of a classifier's head
  std::optional<std::string> head;  ///< as the model's entry in the catalogue names them
  std::optional<bool> tied;         ///< output and input embedding share one tensor
  // Of transformers (sim/models/widths.hpp) and decoders (sim/models/decoder.hpp)
  std::optional<int> layers;
  std::optional<int> hidden;  ///< width of a token
  std::optional<int> heads;
  std::optional<int> ffn;  ///< width of the feed-forward block
  // Of decoders alone
  std::optional<int> kv_heads;   ///< heads of keys and values, each for heads / kv_heads of queries
  std::optional<int> head_size;  ///< features of a head
  std::optional<std::string> activation;  ///< swiglu | gelu
  std::optional<std::string> norm;        ///< rms | layer
  std::optional<std::string> attention;   ///< flash | eager | multihead
  std::optional<bool> rope;               ///< rotary positions in place of a table
  std::optional<ExpertShape> experts;
  // Of ResNets of bottlenecks alone, torchvision's names
  std::optional<int> groups;           ///< of the 3x3 convolutions
  std::optional<int> width_per_group;  ///< channels of a group in the first stage
};

/// What makes an option impossible beside the others.
struct OptionProblem {
  std::string key;
  std::string message;
};

/// A network, independent of GPU, batch and type.
struct ModelDescription {
  std::string name;
  std::string source;              ///< publication and implementation that it follows
  std::vector<ModelLayer> layers;  ///< forward order
  /// Ids count the parameters along `layers`; the order in which gradients become ready.
  std::vector<TensorId> gradient_order;
  /// The same ids as `model.parameters()` gives them: ascending, but where a module is registered
  /// elsewhere than it runs (auxiliary heads, the bias of BERT's decoder).
  std::vector<TensorId> registration_order;
  int tokens = 0;  ///< of a sample (a sequence); 0: samples are no text
  /// Whether torch.autocast is what trains it in half precision, which leaves what its layers add
  /// up and norms in fp32; else parameters and activations are of that type themselves.
  bool autocast = true;
  /// Whether gradients of tables have but the rows that were looked up.
  bool sparse_embeddings = false;
  int buffers = 0;                   ///< tensors of non-trainable state (statistics, masks)
  std::int64_t buffer_elements = 0;  ///< elements in them
  Bytes buffer_bytes{0};             ///< in them; 0: those of statistics
  bool has_statistics = false;       ///< of channels (batch norms, frozen or not)

  [[nodiscard]] std::int64_t parameter_count() const;
  /// The layer's parameters with their gradients of a batch: ParameterSpec::sparse_rows.
  [[nodiscard]] std::vector<ParameterSpec> parameters_of(const ModelLayer& layer, int batch) const {
    return sparse_embeddings ? with_sparse_rows(layer, batch) : layer.parameters;
  }
};

}  // namespace gradwire
