#include "sim/models/text_models.hpp"

#include <string>
#include <utility>

#include "sim/models/builder.hpp"
#include "sim/models/defaults.hpp"
#include "sim/models/lstm_layer.hpp"

namespace gradwire {
namespace {

constexpr std::int64_t cell_width = 2048;
constexpr std::int64_t projected_width = 512;  // and the words' vectors
constexpr std::int64_t sampled = 8192;         // words that a batch is held against (section 4.2)

double count(const Activation& x) {
  return static_cast<double>(x.elements());
}

/// The state that comes back and goes on, at every step.
Activation project(ModelBuilder& net, const std::string& name, const Activation& input) {
  const std::int64_t steps = input.height;
  const Activation output = {.channels = projected_width, .height = steps};
  ModelLayer layer;
  layer.name = name;
  layer.kind = "linear";
  layer.forward = {.flops = 2 * count(input) * static_cast<double>(projected_width),
                   .elements = count(input) + count(output),
                   .kernels = static_cast<int>(steps)};
  layer.backward = {.flops = 2 * layer.forward.flops,
                    .elements = 2 * layer.forward.elements,
                    .kernels = 2 * static_cast<int>(steps)};
  layer.product =
      MatrixShape{.rows = 1, .columns = projected_width, .depth = cell_width, .count = steps};
  layer.weights_read_again = static_cast<double>((steps - 1) * cell_width * projected_width);
  layer.parameters = {{.name = name, .shape = {cell_width, projected_width}, .ready = {}}};
  return net.custom(std::move(layer), {{input}}, output);
}

/// Rows of the softmax's table: the targets' of each sample, and those drawn for the batch, which
/// each direction reads and writes.
void look_up(ModelBuilder& net, std::int64_t steps, std::int64_t vocabulary) {
  const auto targets = static_cast<double>(steps * projected_width);
  ModelLayer layer;
  layer.name = "softmax.lookup";
  layer.kind = "embed";
  layer.forward = {.elements = 2 * targets, .kernels = 2};
  layer.backward = {.elements = 3 * targets, .kernels = 3};
  layer.weights_read_again = 2.0 * sampled * projected_width;
  layer.parameters = {{.name = "softmax_w", .shape = {vocabulary, projected_width}, .ready = {}},
                      {.name = "softmax_b", .shape = {vocabulary}, .ready = {}}};
  layer.looked_up = {.of_sample = steps, .of_batch = sampled};
  net.custom(std::move(layer), {}, {.channels = projected_width, .height = sampled});
}

/// Every step's word against the sampled ones, and its own.
Activation sampled_logits(ModelBuilder& net, const Activation& input) {
  const Activation output = {.channels = sampled + 1, .height = input.height};
  ModelLayer layer;
  layer.name = "softmax.logits";
  layer.kind = "linear";
  layer.product = MatrixShape{.rows = input.height, .columns = sampled, .depth = projected_width};
  layer.forward = {.flops = 2 * count(input) * static_cast<double>(sampled + 1),
                   .elements = count(input) + count(output),
                   .kernels = 2};
  layer.backward = {
      .flops = 2 * layer.forward.flops, .elements = 2 * layer.forward.elements, .kernels = 4};
  return net.custom(std::move(layer), {{input}}, output);
}

}  // namespace

ModelDescription lm_1b(const ModelOptions& options) {
  ModelBuilder net("lm_1b",
                   "Jozefowicz et al., arXiv 1602.02410, LSTM-2048-512; Parallax examples/lm1b");
  const std::int64_t vocabulary = options.vocabulary.value_or(lm_1b_vocabulary);
  const std::int64_t steps = options.sequence_length.value_or(lm_1b_steps);
  Activation x = net.embedding("emb", net.tokens(steps), vocabulary, projected_width);
  x = net.dropout("dropout.0", x);
  x = lstm_layer(net, "lstm", x,
                 {.hidden = cell_width, .recurrent = projected_width, .joined = true});
  x = net.dropout("dropout.1", project(net, "lstm.W_P", x));
  look_up(net, steps, vocabulary);
  net.loss("loss", sampled_logits(net, x));
  net.register_before("softmax_", "lstm");
  ModelDescription model = net.finish();
  model.sparse_embeddings = true;
  return model;
}

}  // namespace gradwire
