#include "sim/models/recompute.hpp"

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/config/profile/decoder_yaml.hpp"
#include "sim/config/profile/hosts_yaml.hpp"
#include "sim/models/analytic_profile.hpp"
#include "sim/models/decoder.hpp"
#include "sim/models/frameworks.hpp"
#include "sim/models/fusion.hpp"
#include "sim/models/image_models.hpp"
#include "sim/models/text_models.hpp"
#include "tests/catch.hpp"
#include "tests/models/descriptions.hpp"

using namespace gradwire;

namespace {

ModelDescription small() {
  return decoder(with_options(config::published_decoders().back(), test::small_decoder(100)));
}

}  // namespace

TEST_CASE("Each activation that backward needs is kept once", "[models]") {
  const ModelDescription model = small();
  const double token = 64 * 32;
  const double wide = 128 * 32;
  // the norm's input; its result, which three products read; queries and keys behind their
  // rotation, values, the result of attention, which the projection reads; as much for the block's
  // second half, where gate and up and their product are wider
  const double half = token + token;
  const double block = half + 4 * token + half + 3 * wide;
  // the last norm's input and result
  const double logits = 100 * 32;
  const KeptActivations kept = kept_activations(model, {Recompute::none});
  CHECK(kept.elements == 2 * block + 2 * token);
  CHECK(kept.logits == logits);
  // the logarithm of their softmax and two gradients in fp32
  const ActivationMemory mixed = activation_memory(model, 3, "bf16", {Recompute::none});
  CHECK(mixed.activations == 3 * 2 * (2 * block + 2 * token));
  CHECK(mixed.logits == 3 * 3 * 4 * logits);
  CHECK(activation_memory(model, 1, "fp32", {Recompute::none}).logits == 3 * 4 * logits);
}

TEST_CASE("Logits that autocast casts for the loss have a gradient in two bytes, and no copy",
          "[models]") {
  ModelOptions options;
  options.sequence_length = 8;
  options.head = "mlm";
  const ModelDescription bert = bert_base(options);
  const double logits = 8 * 30522;
  // the logarithm of their softmax and its gradient in fp32, the logits' own in two bytes; when
  // forward ends, logits and logarithm
  const auto of = [&](bool autocast) {
    return activation_memory(bert, 1, "bf16", {Recompute::none}, autocast);
  };
  CHECK(of(true).logits == (4 + 4 + 2) * logits);
  CHECK(of(true).forward_end - of(true).activations == (2 + 4) * logits);
  CHECK(of(false).logits == (4 + 4 + 4) * logits);
  CHECK(activation_memory(bert, 1, "fp32", {Recompute::none}, false).logits == 12 * logits);
  // GPT-2's and BART's models make fp32 of them themselves
  options.head.reset();
  CHECK(activation_memory(bart_base(options), 1, "bf16", {Recompute::none}, true).logits ==
        12 * 8 * 50265);
  CHECK(activation_memory(gpt2(options), 1, "bf16", {Recompute::none}, true).logits ==
        12 * 8 * 50257);
}

TEST_CASE("Full recomputation keeps the inputs of blocks, and one block when logits are gone",
          "[models]") {
  const double token = 64 * 32;
  const double block = 8 * token + 3 * 128 * 32;
  const KeptActivations kept = kept_activations(small(), {Recompute::full});
  CHECK(kept.elements == 2 * token + 2 * token);
  CHECK(kept.again == block - token);  // its input is there already
  // In two bytes a block of 52 Ki for each of three samples, more than 37.5 KiB of logits.
  const ActivationMemory mixed = activation_memory(small(), 3, "bf16", {Recompute::full});
  CHECK(mixed.activations == 3 * 2 * (4 * token + block - token));
  CHECK(mixed.logits == 0);
  // Were the block kept, the logits would be there beside it.
  CHECK(activation_memory(small(), 3, "bf16", {Recompute::none}).logits > 0);
}

TEST_CASE("Autocast keeps inputs of blocks in fp32, and no casts of blocks that are made again",
          "[models]") {
  const ModelDescription model = small();
  const auto memory = [&](Recompute what, bool autocast) {
    return activation_memory(model, 3, "bf16", {what}, autocast);
  };
  // of the two blocks' inputs 2 bytes more each, beside what layers behind them keep
  const double token = 64 * 32;
  double behind = 0;
  for (const ModelLayer& layer : model.layers) {
    if (!layer.name.starts_with("model.layers.")) behind += layer.autocast_kept_bytes;
  }
  CHECK(kept_activations(model, {Recompute::full}).autocast_bytes == 2 * 2 * token + behind);
  // q, k, v and o of 64 x 64, gate, up and down of 128 x 64 in each block; the head of 100 x 64
  const std::int64_t block = 4 * 64 * 64 + 3 * 128 * 64;
  const std::int64_t head = 100 * 64;
  CHECK(memory(Recompute::none, true).casts.all == 2 * block + head);
  CHECK(memory(Recompute::none, true).casts.kept == 2 * block + head);
  // the block that is made again when the logits are gone, which are less
  CHECK(memory(Recompute::full, true).casts.all == 2 * block + head);
  CHECK(memory(Recompute::full, true).casts.kept == block + head);
}

TEST_CASE("Recomputation by layer count keeps what the other blocks do", "[models]") {
  // of two blocks the first keeps its input alone, the second all
  const double token = 64 * 32;
  const double block = 8 * token + 3 * 128 * 32;
  const KeptActivations kept = kept_activations(small(), {Recompute::full, 1});
  CHECK(kept.elements == token + block + 2 * token);
  CHECK(kept.again == block - token);
  CHECK(block_count(small()) == 2);
  CHECK(kept_activations(small(), {Recompute::full, 2}).elements ==
        kept_activations(small(), {Recompute::full}).elements);
  const ModelDescription model = recomputed(small(), {Recompute::full, 1}, false);
  for (const ModelLayer& layer : model.layers) {
    CAPTURE(layer.name);
    CHECK(layer.made_again == layer.name.starts_with("model.layers.0."));
  }
}

TEST_CASE("Selective recomputation keeps attention and every second product", "[models]") {
  // of seven products q k v o gate up down: q, v, gate and down of each block
  const double token = 64 * 32;
  const double wide = 128 * 32;
  const double block = 8 * token + 3 * wide;
  const double stays = token + token + 3 * token + wide;  // input, attention, products
  const KeptActivations kept = kept_activations(small(), {Recompute::selective});
  CHECK(kept.elements == 2 * stays + 2 * token);
  CHECK(kept.again == block - stays);
}

TEST_CASE("What is made again takes its forward pass in backward, GPU and host", "[models]") {
  const GpuSpec h100 = config::shipped_gpu("h100-sxm5-80gb", {});
  const auto profile = [&](Recompute recompute) {
    AnalyticOptions options;
    options.recompute = recompute;
    options.use_reentrant = true;
    return analytic_profile(config::shipped_hosts(), small(), h100, 2, "bf16", options);
  };
  const ComputeProfile none = profile(Recompute::none);
  const ComputeProfile full = profile(Recompute::full);
  const ComputeProfile selective = profile(Recompute::selective);
  double again = 0;
  for (std::size_t i = 0; i < none.layers.size(); ++i) {
    const LayerProfile& layer = none.layers[i];
    const bool in_block = layer.name.starts_with("model.layers.");
    const Seconds more = in_block ? layer.forward : Seconds{0};
    CHECK(full.layers[i].backward.count() == Approx((layer.backward + more).count()));
    CHECK(full.layers[i].launches->backward.count() ==
          Approx((layer.launches->backward + (in_block ? layer.launches->forward : Seconds{0}))
                     .count()));
    const bool kept = layer.name.ends_with("flash") || layer.name.ends_with("q_proj");
    if (kept) CHECK(selective.layers[i].backward == layer.backward);
    again += in_block ? layer.flops : 0;
  }
  CHECK(full.recomputed_flops == Approx(again));
}

TEST_CASE("A block runs again up to the last activation that backward needs", "[models]") {
  // torch.utils.checkpoint with use_reentrant=False: a decoder ends with a product, whose input is
  // kept, and a sum; GPT-2 with a dropout, whose mask is drawn again, BERT with a norm.
  const auto last_made_again = [](const ModelDescription& model, const std::string& block) {
    std::string last;
    for (const ModelLayer& layer : recomputed(model, {Recompute::full}, true).layers) {
      if (layer.made_again && layer.name.starts_with(block)) last = layer.name;
    }
    return last;
  };
  CHECK(last_made_again(small(), "model.layers.1") == "model.layers.1.mlp.act");
  CHECK_THAT(last_made_again(gpt2({}), "transformer.h.3"), Catch::Matchers::EndsWith("dropout"));
  CHECK_THAT(last_made_again(bert_base({}), "bert.encoder.layer.3"),
             Catch::Matchers::EndsWith("LayerNorm"));
  for (const ModelLayer& layer : recomputed(small(), {Recompute::full}, false).layers) {
    if (layer.name.ends_with("down_proj")) CHECK(layer.made_again);
  }
}

TEST_CASE("Hooks of what is run again cost the host a share of each block and operator",
          "[models]") {
  const GpuSpec h100 = config::shipped_gpu("h100-sxm5-80gb", {});
  const auto profile = [&](const std::string& framework, bool reentrant, double host_time) {
    AnalyticOptions options;
    options.recompute = Recompute::full;
    options.use_reentrant = reentrant;
    options.framework = framework;
    options.host_time = host_time;
    return analytic_profile(config::shipped_hosts(), small(), h100, 2, "bf16", options);
  };
  const auto more = [&](const std::string& framework, const std::string& name) {
    const auto forward = [&](bool reentrant) {
      const ComputeProfile all = profile(framework, reentrant, 2);
      return std::ranges::find(all.layers, name, &LayerProfile::name)->launches->forward;
    };
    return (forward(false) - forward(true)).count();
  };
  const CheckpointHost& host = config::shipped_hosts().find_framework("pytorch-eager")->checkpoint;
  const std::string first = "model.layers.1.input_layernorm";
  CHECK(more("pytorch-eager", first) ==
        Approx(2 * (host.block.forward + host.operators.forward).count()));
  CHECK(more("pytorch-eager", "model.layers.1.self_attn.q_proj") ==
        Approx(2 * host.operators.forward.count()));
  CHECK(more("pytorch-eager", "lm_head") == 0);
  CHECK(more("pytorch-compile", first) == 0);
}

TEST_CASE("VGG-16 has its widest layers' gradients beside all its activations", "[models]") {
  // classifier.0 is 25088 x 4096 + 4096, .3 4096 x 4096 + 4096, .6 4096 x 1000 + 1000; before them
  // backward has freed what these three, two ReLU and two dropouts keep.
  const ActivationMemory memory = activation_memory(vgg16({}), 64, "fp32", {Recompute::none});
  CHECK(memory.fullest.gradients == 123'642'856);
  const double freed = memory.activations - static_cast<double>(memory.fullest.activations.count());
  CHECK(freed > 0);
  CHECK(freed < 64 * 4 * 8 * 4096.0);
}

TEST_CASE("A fused loss reads its logits once each way and keeps nothing beside them", "[models]") {
  const ModelDescription model = with_fused_loss(small());
  const ModelLayer& loss = test::layer(model, "loss");
  CHECK(loss.forward.elements == 100 * 32);
  CHECK(loss.backward.elements == 2 * 100 * 32);
  CHECK(activation_memory(small(), 3, "bf16", {Recompute::none}, false, LossForm::fused).logits ==
        3 * 2 * 100 * 32);
}

TEST_CASE("A compiled loss keeps the logits, their gradient in fp32 and its cast", "[models]") {
  // 16,000 MB of 8192 tokens and 256,000 words (Wijmans et al., table 1): 8 bytes a logit
  CHECK(16'000.0 * 1024 * 1024 / (8192.0 * 256'000) == Approx(8).epsilon(1e-3));
  const auto logits = [](const std::string& dtype) {
    return activation_memory(small(), 1, dtype, {Recompute::none}, false, LossForm::compiled)
        .logits;
  };
  CHECK(logits("bf16") == 8 * 100 * 32);
  CHECK(logits("fp32") == 8 * 100 * 32);  // no cast
}

TEST_CASE("ResNet-50 trains with 64 images in 12 GB, not with 256", "[models]") {
  // tensorflow/benchmarks: 64 a GPU on a K80 (12 GB), README "--batch_size=64"; weights, gradients
  // and momentum take 0.3 GB
  const ModelDescription model = resnet50({});
  CHECK(activation_memory(model, 64, "fp32", {Recompute::none}).activations < 11.7e9);
  CHECK(activation_memory(model, 256, "fp32", {Recompute::none}).activations > 11.7e9);
}

TEST_CASE("Autocast keeps norms' inputs in fp32 and a cast for each product", "[models]") {
  // A layer of BERT-Base of 128 tokens: 2 norms of 768 (2 bytes more an element), queries, keys and
  // values each with their own cast of one of them (2 more each beyond the first), softmaxes of 12
  // heads in fp32 beside their cast (4 more). The first layer reads a dropout. Beside them the
  // norms of the embeddings and of the head's 20 positions.
  constexpr double tokens = 128;
  constexpr double width = 768;
  constexpr double layer = 2 * (2 * width) + 2 * (2 * width) + 4 * 12 * 128;
  const KeptActivations kept = kept_activations(bert_base({}), {Recompute::none});
  CHECK(kept.autocast_bytes ==
        12 * tokens * layer - 4 * width * tokens + 2 * width * (tokens + 20));
}

TEST_CASE("Compiled, autocast keeps norms' inputs in fp32, and no second cast", "[models]") {
  // the 24 norms of BERT-Base's blocks, and those of the embeddings and of the head's 20 positions
  const KeptActivations kept =
      kept_activations(fused(bert_base({}), Fusion::inductor), {Recompute::none});
  CHECK(kept.autocast_bytes == 2 * 768 * (25 * 128 + 20));
  // and a profile keeps them, as its sums of fp32 are priced
  AnalyticOptions options;
  options.framework = "pytorch-compile";
  const auto activations = [&] {
    return *analytic_profile(config::shipped_hosts(), bert_base({}),
                             config::shipped_gpu("h100-sxm5-80gb", {}), 1, "bf16", options)
                .activations;
  };
  const Bytes with = activations();
  options.autocast = false;
  CHECK(with - activations() == Bytes{std::int64_t{2} * 768 * (25 * 128 + 20)});
}

TEST_CASE("A maximum is kept with where it was", "[models]") {
  // ResNet-50's pool: 64 x 56 x 56 maxima, 8 bytes each (torch.nn.functional.max_pool2d: int64)
  CHECK(kept_activations(resnet50({}), {Recompute::none}).bytes == 8.0 * 64 * 56 * 56);
}

TEST_CASE("Vision and diffusion transformers have their published number of blocks",
          "[models][vit]") {
  // Dosovitskiy et al., arXiv 2010.11929, table 1; Peebles and Xie, arXiv 2212.09748, table 1. What
  // else has numbers (DiT's embedding of time, its last layer's condition) is no block.
  CHECK(block_count(vit_b_16({})) == 12);
  CHECK(block_count(vit_l_16({})) == 24);
  CHECK(block_count(vit_h_14({})) == 32);
  CHECK(block_count(dit_b_2({})) == 12);
  CHECK(block_count(dit_xl_2({})) == 28);
  // Each block of ViT-L keeps its input: 1 class token and 14 x 14 patches of 1024; beside these
  // there are the image, the last norm's input and the head's.
  const double block = 197 * 1024;
  const KeptActivations kept = kept_activations(vit_l_16({}), {Recompute::full});
  CHECK(kept.elements == Approx(24 * block + 3 * 224 * 224 + block + 1024));
  for (const ModelLayer& layer : recomputed(dit_b_2({}), {Recompute::full}, false).layers) {
    CAPTURE(layer.name);
    CHECK(layer.made_again == layer.name.starts_with("blocks."));
  }
}

TEST_CASE("A dropout keeps its mask, a byte an element, which a compiler draws again", "[models]") {
  // native_dropout gives a mask of bool beside its result.
  const ModelDescription model = gpt2({});
  const auto kept = [](const ModelDescription& of) {
    return test::layer(of, "transformer.h.0.mlp.dropout").kept_bytes;
  };
  CHECK(kept(model) == 1024.0 * 768);
  CHECK(kept(fused(model, Fusion::inductor)) == 0);
  // 25 of them in GPT-2, 1024 x 768 each, and 12 of 12 heads' weights where these are in memory.
  double masks = 0;
  for (const ModelLayer& layer : model.layers) {
    if (layer.kind == "other") masks += layer.kept_bytes;
  }
  CHECK(masks == 25 * 1024.0 * 768 + 12 * 12 * 1024.0 * 1024);
}
