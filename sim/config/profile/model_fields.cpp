#include "sim/config/profile/model_fields.hpp"
#include "sim/models/image_models.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gradwire::config {
namespace {

/// A size that a model has by itself.
Field<ModelOptions> size_field(const std::string& name, std::optional<int> ModelOptions::*member,
                               int most, const std::string& doc) {
  return field(name, member, doc, between(1, most), "the model's");
}

}  // namespace

const Fields<ExpertShape>& expert_fields() {
  static const Fields<ExpertShape> fields = {
      "experts",
      "mixture of experts, balanced",
      {field("count", &ExpertShape::count, "how many", between(1, experts_max), required),
       field("active", &ExpertShape::active, "for each token", between(1, experts_max), required),
       field("shared", &ExpertShape::shared, "for all tokens", between(0, experts_max)),
       field("ffn", &ExpertShape::ffn, "their width", between<std::int64_t>(1, width_max),
             required),
       field("every", &ExpertShape::every, "in each so-manieth layer", between(1, layers_max)),
       field("dense_layers", &ExpertShape::dense_layers, "so many first layers have none",
             between(0, layers_max))}};
  return fields;
}

const Fields<ModelOptions>& model_fields() {
  using Options = ModelOptions;
  const std::string own = "the model's";
  static const Fields<Options> fields = {
      "model options",
      "options of the catalogue's models: `gradwire list models NAME`",
      {size_field("image_size", &Options::image_size, image_size_max, "pixels a side"),
       size_field("sequence_length", &Options::sequence_length, count_max, "tokens"),
       size_field("vocabulary", &Options::vocabulary, count_max, "tokens that it knows"),
       size_field("classes", &Options::classes, count_max, "of a classifier's head"),
       field("head", &Options::head, "one that this model has", {}, own),
       field("tied", &Options::tied, "output and input embedding share one tensor", {}, own),
       size_field("layers", &Options::layers, layers_max, "of transformers: blocks of each stack"),
       size_field("hidden", &Options::hidden, width_max, "of transformers: width of a token"),
       size_field("heads", &Options::heads, width_max, "of transformers: of queries"),
       size_field("kv_heads", &Options::kv_heads, width_max, "of decoders: of keys and values"),
       size_field("head_size", &Options::head_size, width_max, "of decoders: features of a head"),
       size_field("ffn", &Options::ffn, width_max,
                  "of transformers: width of the feed-forward block"),
       word("activation", &Options::activation, {"swiglu", "gelu"}, "of decoders", own),
       word("norm", &Options::norm, {"rms", "layer"}, "of decoders", own),
       word("attention", &Options::attention, {"flash", "eager", multihead_attention},
            "one kernel, or scores in memory; of vision transformers one kernel with the copies of "
            "nn.MultiheadAttention, too",
            own),
       field("rope", &Options::rope, "of decoders: rotary positions in place of a table", {}, own),
       inside("experts", &Options::experts, expert_fields, "of decoders: balanced", own),
       size_field("groups", &Options::groups, groups_max,
                  "of ResNets with bottlenecks: of the 3x3 convolutions"),
       size_field("width_per_group", &Options::width_per_group, group_width_max,
                  "of ResNets with bottlenecks: channels of a group, in the first stage")}};
  return fields;
}

}  // namespace gradwire::config
