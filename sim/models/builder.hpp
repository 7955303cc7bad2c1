#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/models/model.hpp"

namespace gradwire {

/// What one sample hands from one layer to the next: channels x height x width of an image, or
/// features x tokens (width 1) of a text.
struct Activation {
  int value = -1;  ///< which tensor of the graph; made by ModelBuilder only
  std::int64_t channels = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;

  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
  [[nodiscard]] double count() const { return static_cast<double>(elements()); }
};

/// A layer without tensors.
[[nodiscard]] ModelLayer operation(const std::string& name, const std::string& kind,
                                   const LayerWork& forward, const LayerWork& backward);

/// Height and width of a kernel, or of the padding on each side.
struct Window {
  std::int64_t height = 1;
  std::int64_t width = 1;
};
[[nodiscard]] constexpr Window square(std::int64_t side) {
  return {side, side};
}

struct Convolution {
  std::int64_t out = 0;  ///< output channels
  Window kernel;
  std::int64_t stride = 1;
  Window padding = {0, 0};
  std::int64_t groups = 1;
  bool bias = false;
};

struct Pooling {
  Window kernel;
  std::int64_t stride = 1;
  Window padding = {0, 0};
  bool ceil = false;  ///< the last, incomplete window counts
};

/// Builds a ModelDescription layer by layer, in forward order. Each method appends one operator
/// with its work and tensors and returns what it produces.
///
/// The work, for one sample (N elements in, M out; weights not counted):
///   convolution, linear, product: forward 2 FLOP a multiply-accumulate, N + M moved; backward
///   twice
///     that, once where no gradient flows to the input; a bias adds a pass for its gradient, and in
///     a convolution one to add it;
///   batch norm: 3 N forward (x twice, y), 5 N backward (x and dy twice, dx);
///   activation, layer norm, softmax: 2 N, 3 N (gradient, saved tensor, result);
///   add: 3 N, nothing (both gradients alias the incoming one);
///   max pooling: N + M, 2.5 times that; average pooling: N + M both ways;
///   concatenation: 2 N, nothing (slices are views); dropout, scale, copy: 2 N both ways; mask: 2
///   N,
///     nothing;
///   embedding: 2 M, 3 M (the gradient scattered into the table).
/// The ratios are those of the PyTorch profiler traces of ResNet-50 on V100, A100 and H100 that the
/// recorded profile comes from (Kineto traces of facebookresearch/HolisticTraceAnalysis, operator
/// tables of sarchlab/triosim); those of dropout, scale, copy, split, concatenation, average
/// pooling and embedding count what PyTorch's kernels read and write, and were not measured.
///
/// A value with several readers has its gradients summed: each reader but the one whose backward
/// runs first is preceded by a layer "NAME.grad_sum" of kind `add`, without forward work, that
/// moves 3 elements an element.
///
/// What backward keeps (ModelLayer::kept), as autograd's nodes save it: inputs of convolutions,
/// products, norms, pooling and activations (ReLU of convolutional networks works in place and
/// keeps its result), the result of a softmax, both of flash attention's. What several layers save
/// is there once. Masks of dropout and indices are left out.
///
/// Gradient order: autograd runs the ready node that was made last in forward. That node's readers
/// were made later still, so backward is the forward order reversed, branches included. Within an
/// operator it is as recorded (Espresso's tensor tables, the V100 trace): bias before weight in a
/// convolution or linear layer, weight before bias in a norm. A tensor that several layers use
/// belongs to the first of them, whose backward completes its gradient.
class ModelBuilder {
 public:
  /// @param source  publication and implementation that it follows.
  ModelBuilder(std::string name, std::string source);

  // Inputs; no gradient flows to them.
  Activation image(std::int64_t channels, std::int64_t side);
  Activation tokens(std::int64_t count);  ///< of two inputs the last is counted: the target
  Activation input(const Activation& shape);
  /// Something that no layer here made, though a gradient flows to it.
  Activation activation(const Activation& shape);

  Activation conv(const std::string& name, const Activation& input, const Convolution& shape);
  /// The same with the tensors of an earlier layer.
  Activation tied_conv(const std::string& name, const Activation& input, const Convolution& shape);
  Activation batch_norm(const std::string& name, const Activation& input);
  Activation layer_norm(const std::string& name, const Activation& input);
  /// Without a bias; `width` of its weight, 0: all of a token's features (else it norms them in
  /// groups of that width). Operator by operator as LlamaRMSNorm, in units of a 16-bit element:
  /// forward to fp32 (3 N), square (4), mean (2), its root (two kernels of no size), product (4),
  /// back (3), weight (2); backward what autograd runs for them. Compiled as layer norm.
  Activation rms_norm(const std::string& name, const Activation& input, std::int64_t width = 0);
  Activation act(const std::string& name, const Activation& input);
  /// Not in place, even beside convolutions: backward needs the input.
  Activation gelu(const std::string& name, const Activation& input);
  /// BLOOM's, 0.5 x (1 + tanh(0.797 x (1 + 0.0447 x^2))), as HuggingFace's modeling_bloom.py has it
  /// in a function of its own, which keeps x alone: nine kernels (six of a number and x, 2 N each,
  /// three of two tensors, 3 N); backward the six to the tanh again (14 N) and twelve more (30 N).
  /// Compiled: as gelu.
  Activation bloom_gelu(const std::string& name, const Activation& input);
  /// SiLU, hard swish or ReLU6 in place, as image networks have them: backward needs the input,
  /// which autograd therefore copies first (2 N) and keeps beside the result. Compiled: no copy.
  Activation smooth_act(const std::string& name, const Activation& input);
  /// Rotary positions, as apply_rotary_pos_emb: two products (2 N each), the halves swapped (3),
  /// sum (3), and as much backward. Compiled: read and written once each way.
  Activation rotary(const std::string& name, const Activation& input);
  /// The loss of `logits` in 16 bits: to fp32 (3 N), log softmax (4), and backward its gradient (4)
  /// and back (3).
  Activation cross_entropy(const std::string& name, const Activation& logits);
  /// SiLU of `gate` (2 N) times `up` (3 N); backward 3 N and twice 3 N. Compiled: both read, the
  /// result written (3 N); gradient and both read, their gradients written (5 N).
  Activation gated_act(const std::string& name, const Activation& gate, const Activation& up);
  Activation softmax(const std::string& name, const Activation& input);
  /// Log softmax and the loss of the labels, in fp32 whatever the logits are.
  /// @param upcast  see ModelLayer.
  Activation loss(const std::string& name, const Activation& logits, bool upcast = false);
  Activation dropout(const std::string& name, const Activation& input);
  /// Multiplies by a number.
  Activation scale(const std::string& name, const Activation& input);
  /// A branch of each sample times 0 or 1 / (1 - p), as torchvision's: random numbers, their
  /// quotient and the product (2 N); backward one.
  Activation stochastic_depth(const std::string& name, const Activation& input);
  /// Adds something without gradient that the samples share, or that is much smaller than the input
  /// (a mask, a table of positions).
  Activation add_constant(const std::string& name, const Activation& input);
  Activation copy(const std::string& name, const Activation& input);
  /// The result of attention, head by head, as one copy; queries, keys and values are views.
  Activation merge_heads(const std::string& name, const Activation& input);
  Activation add(const std::string& name, const Activation& left, const Activation& right);
  Activation concat(const std::string& name, std::span<const Activation> inputs);
  /// `parts` equal slices of the channels, as views.
  std::vector<Activation> split(const std::string& name, const Activation& input, int parts);
  Activation max_pool(const std::string& name, const Activation& input, const Pooling& shape);
  Activation average_pool(const std::string& name, const Activation& input, const Pooling& shape);
  /// Average over windows that leave `side` x `side`.
  Activation adaptive_pool(const std::string& name, const Activation& input, std::int64_t side);
  /// All of a sample as one row, without work.
  [[nodiscard]] static Activation flatten(const Activation& input);

  enum class Bias : std::uint8_t { none, own };
  /// Over the features of each token. Weight [out, in] as nn.Linear has it.
  Activation linear(const std::string& name, const Activation& input, std::int64_t out,
                    Bias bias = Bias::own);
  /// The same with its weight stored [in, out], as Conv1D of the GPT-2 code has it.
  Activation transposed_linear(const std::string& name, const Activation& input, std::int64_t out);
  /// A linear layer whose weight is the table of an earlier embedding, of [out, in]; its bias, when
  /// `bias_name` is not empty, is a tensor of this one.
  Activation tied_linear(const std::string& name, const Activation& input, std::int64_t out,
                         const std::string& bias_name = "");
  /// Adds a bias that is a tensor of its own, called `name`.
  Activation bias(const std::string& name, const Activation& input);
  /// `count` products of (rows x depth) and (depth x columns), both activations.
  Activation product(const std::string& name, const Activation& left, const Activation& right,
                     const MatrixShape& shape);
  Activation embedding(const std::string& name, const Activation& tokens, std::int64_t rows,
                       std::int64_t width);
  /// The same, looking up a table that is a tensor of an earlier layer.
  Activation tied_embedding(const std::string& name, const Activation& tokens, std::int64_t width);
  /// `rows` of the tokens, copied out.
  Activation gather(const std::string& name, const Activation& input, std::int64_t rows);
  /// An operator of its own kind: `work` as given, the tensors listed in the order in which their
  /// gradients become ready when `ready` names them, else reversed.
  Activation custom(ModelLayer layer, std::span<const Activation> inputs, const Activation& output,
                    std::vector<int> ready = {});

  /// `number` tensors of channels' statistics, which do not train, of `elements` together.
  void add_statistics(int number, std::int64_t elements);
  /// A tensor of bool that is registered as a buffer: which positions see which.
  void add_mask(std::int64_t elements);
  /// The layers so far do not train: their tensors are no parameters, and backward, which does not
  /// reach them, needs nothing of theirs.
  void freeze();

  /// The tensors whose names begin with `prefix` are registered before the first one that begins
  /// with `other`, though their layers run elsewhere.
  void register_before(const std::string& prefix, const std::string& other);

  /// The description; the builder is empty afterwards.
  [[nodiscard]] ModelDescription finish();

 private:
  struct Value {
    std::int64_t elements = 0;
    bool input = false;
    int last_reader = -1;
  };
  struct Placement {
    std::string prefix;
    std::string before;
  };

  Activation make_value(Activation shape, bool input = false);
  [[nodiscard]] bool is_input(const Activation& activation) const;
  /// A layer that reads and writes once and has no tensors.
  Activation simple(const std::string& name, const std::string& kind, const Activation& input,
                    const Activation& output, double forward, double backward);
  Activation matrix(const std::string& name, const Activation& input, std::int64_t out);
  void add_kept();
  void add_casts();
  void insert_gradient_sums();
  [[nodiscard]] std::vector<TensorId> gradient_order() const;
  [[nodiscard]] std::vector<TensorId> registration_order() const;

  ModelDescription model_;
  std::vector<Value> values_;
  std::vector<std::vector<int>> reads_;  ///< per layer: the values
  std::vector<int> writes_;              ///< per layer: the value
  std::vector<std::vector<int>> ready_;  ///< per layer: its tensors as they become ready
  std::vector<Placement> placements_;
  std::size_t frozen_ = 0;  ///< layers that do not train
};

}  // namespace gradwire
