#include "strategies/sharded/fsdp_units.hpp"

#include "strategies/sharded/fsdp.hpp"
#include "tests/catch.hpp"
#include "tests/strategies/describe.hpp"
#include "tests/strategies/toy_job.hpp"

using namespace gradwire;
using namespace gradwire::test;

namespace {

/// Embedding, two blocks of two layers, a head. @param dot  between a block's name and number
JobView transformer(const std::string& dot = ".") {
  auto job = toy_job({8, 4, 4, 4, 4, 8});
  const std::string block = "h" + dot;
  const std::vector<std::string> names = {"wte.weight",           block + "0.attn.weight",
                                          block + "0.mlp.weight", block + "1.attn.weight",
                                          block + "1.mlp.weight", "head.weight"};
  for (std::size_t i = 0; i < names.size(); ++i) job.tensors[i].name = names[i];
  return job;
}

std::vector<std::vector<TensorId>> tensors_of(const std::vector<FsdpUnit>& units) {
  std::vector<std::vector<TensorId>> tensors;
  for (const auto& unit : units) tensors.push_back(unit.tensors);
  return tensors;
}

}  // namespace

TEST_CASE("blocks are units, and what is in none is the root's", "[fsdp]") {
  const auto units = make_fsdp_units(transformer(), WrapPolicy::block, Bytes{0});
  CHECK(tensors_of(units) == std::vector<std::vector<TensorId>>{{0, 5}, {1, 2}, {3, 4}});
  CHECK(units[0].root);
  CHECK_FALSE(units[1].root);
  CHECK(units[2].first_layer == 3);
  CHECK(units[2].last_layer == 4);
}

TEST_CASE("blocks may be numbered within their names, where no part is a number", "[fsdp]") {
  CHECK(tensors_of(make_fsdp_units(transformer(""), WrapPolicy::block, Bytes{0})) ==
        std::vector<std::vector<TensorId>>{{0, 5}, {1, 2}, {3, 4}});
}

TEST_CASE("a block's number may follow the word layer, as in torchvision's ViT", "[fsdp]") {
  auto job = toy_job({8, 4, 4, 4, 4, 8});
  const std::vector<std::string> names = {"conv_proj.weight",
                                          "encoder.layers.encoder_layer_0.mlp.0.weight",
                                          "encoder.layers.encoder_layer_0.mlp.3.weight",
                                          "encoder.layers.encoder_layer_1.mlp.0.weight",
                                          "encoder.layers.encoder_layer_1.mlp.3.weight",
                                          "heads.head.weight"};
  for (std::size_t i = 0; i < names.size(); ++i) job.tensors[i].name = names[i];
  CHECK(tensors_of(make_fsdp_units(job, WrapPolicy::block, Bytes{0})) ==
        std::vector<std::vector<TensorId>>{{0, 5}, {1, 2}, {3, 4}});
}

TEST_CASE("a layer may have tensors of several numbers, as an adaptive softmax", "[fsdp]") {
  auto job = toy_job({4, 4, 2, 2});
  const std::vector<std::string> names = {"layers.0.attn.weight", "layers.0.mlp.weight",
                                          "crit.out_layers.0.weight", "crit.out_layers.1.weight"};
  for (std::size_t i = 0; i < names.size(); ++i) job.tensors[i].name = names[i];
  job.tensors[3].layer = 2;
  CHECK(tensors_of(make_fsdp_units(job, WrapPolicy::block, Bytes{0})) ==
        std::vector<std::vector<TensorId>>{{2, 3}, {0, 1}});
}

TEST_CASE("a numbered layer alone is a block where no block has several, as in VGG", "[fsdp]") {
  // DiT: the embedding of time is two layers in a list, which its authors do not repeat
  auto job = toy_job({8, 8, 4, 4, 8});
  const std::vector<std::string> names = {"t_embedder.mlp.0.weight", "t_embedder.mlp.2.weight",
                                          "blocks.0.attn.qkv.weight", "blocks.0.mlp.fc1.weight",
                                          "final_layer.adaLN_modulation.1.weight"};
  for (std::size_t i = 0; i < names.size(); ++i) job.tensors[i].name = names[i];
  CHECK(tensors_of(make_fsdp_units(job, WrapPolicy::block, Bytes{0})) ==
        std::vector<std::vector<TensorId>>{{0, 1, 4}, {2, 3}});
  job = toy_job({8, 4});
  job.tensors[0].name = "features.0.weight";
  job.tensors[1].name = "features.2.weight";
  CHECK(tensors_of(make_fsdp_units(job, WrapPolicy::block, Bytes{0})) ==
        std::vector<std::vector<TensorId>>{{0}, {1}});
}

TEST_CASE("units of a size close once they have it; the rest is the root's", "[fsdp]") {
  // 32, 16, 16, 16, 16, 32 bytes, at least 48 each: 32 + 16, 16 * 3, and 32 are left.
  const auto units = make_fsdp_units(transformer(), WrapPolicy::size_based, Bytes{48});
  CHECK(tensors_of(units) == std::vector<std::vector<TensorId>>{{5}, {0, 1}, {2, 3, 4}});
  CHECK(units[0].root);
}

TEST_CASE("without a policy there is one unit", "[fsdp]") {
  CHECK(make_fsdp_units(transformer(), WrapPolicy::none, Bytes{0}).size() == 1);
}

TEST_CASE("the root is gathered first, kept through forward, and reduced last", "[fsdp]") {
  Fsdp fsdp({.limit_all_gathers = false}, transformer());
  const auto on = [&](const Event& event) { return describe(fsdp.on_event(Seconds{}, event)); };
  // The root's all-gather is issued before the first block's, which waits for forward to come.
  CHECK(on(ForwardStart{.layer = 0}) == Words{"ready", "flag: unit 0 gathered", "gate 1"});
  CHECK(on(ForwardStart{.layer = 1}) == Words{"flag: unit 1 gathered", "gate 3"});
  on(ForwardStart{.layer = 3});  // 5, 6
  CHECK(on(OperationDone{0}) ==
        Words{"all-gather unit 0", "all-gather unit 1", "all-gather unit 2"});  // 7 to 9
  for (const OperationId id : {7, 8, 9}) on(OperationDone{id});
  on(ForwardStart{.layer = 5});
  // The root needs no second all-gather; its hook prefetches the last block's.
  CHECK(on(BackwardStart{.layer = 5}) == Words{"all-gather unit 2"});
  CHECK(on(HookFired{.tensor = 5}).empty());  // the embedding's gradient is missing
  for (const TensorId tensor : {4, 3, 2, 1}) on(HookFired{.tensor = tensor});
  CHECK(on(HookFired{.tensor = 0}).front() == "concatenate gradients");
}
