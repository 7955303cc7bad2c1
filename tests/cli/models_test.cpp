#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace gradwire;

namespace {

constexpr const char* table =
    "name,kind,input,output,kernel,params\n"
    "conv,Conv2d,2x3x8x8,2x4x8x8,3x3,112\n"
    "relu,ReLU,2x4x8x8,2x4x8x8,,\n"
    "fc,Linear,2x256,2x10,,2570\n";

}  // namespace

TEST_CASE("A table of layers becomes a model that checks", "[cli][import]") {
  const Workplace place("model_table");
  place.write("table.csv", table);
  const auto run = place.run("import model-table table.csv --name mine -o mine.yaml");
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK(run.err == "3 layers, 2682 parameters in 4 tensors\n");  // 112 + 2570
  CHECK_THAT(place.text("mine.yaml"), Catch::ContainsSubstring("name: \"mine\""));
  const auto check = place.run("check mine.yaml");
  CHECK(check.code == 0);
  CHECK(check.out + check.err == "");
}

TEST_CASE("A config.json becomes a model that runs under a profile's own options",
          "[cli][import]") {
  const Workplace place("huggingface_config");
  place.write("config.json",
              R"({"model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 64,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100,
  "max_position_embeddings": 32768})");
  const auto run = place.run("import huggingface-config config.json --name mine -o mine.yaml");
  CHECK(run.code == 0);
  // two tables 100 x 64, a last norm; a block: q and o 64 x 64, k and v 64 x 32, biases 64 + 2 x
  // 32, feed-forward 3 x 64 x 128, norms 2 x 64
  CHECK(run.err == fmt::format("2 layers, {} parameters in 27 tensors\n",
                               2 * 6400 + 64 + 2 * (8192 + 4096 + 128 + 24'576 + 128)));
  CHECK(place.run("check mine.yaml").code == 0);
  place.write("job.yaml",
              "schema: gradwire.scenario/1\n"
              "profile: {model: mine.yaml, gpu: h100-sxm5-80gb, batch_per_gpu: 2, dtype: bf16, "
              "sequence_length: 128}\n"
              "cluster: {node: hgx_h100}\n"
              "strategy: {name: fsdp2}\n");
  const auto job = place.run("run job.yaml -q --json r.json");
  CHECK(job.code == 0);
  const nlohmann::json result = nlohmann::json::parse(place.text("r.json"));
  CHECK(result["model"] == "mine");
  // 2 sequences of 128 on each of 8 GPUs
  CHECK(result["tokens_per_s"].get<double>() ==
        Approx(2 * 128 * 8 / result["iteration_time_s"]["mean"].get<double>()));
  const auto wrong = place.run("run job.yaml -q --set profile.kv_heads=3");
  CHECK(wrong.code == 3);
  CHECK_THAT(wrong.err, Catch::ContainsSubstring("'kv_heads' is 3; expected a divisor"));
}

TEST_CASE("A table that is refused leaves no file", "[cli][import]") {
  const Workplace place("bad_model_table");
  std::string bad = table;
  bad.replace(bad.find("ReLU"), 4, "RELU7");
  place.write("table.csv", bad);
  const auto run = place.run("import model-table table.csv -o mine.yaml");
  CHECK(run.code == 3);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::ContainsSubstring("table.csv:3:1: layer 'relu' is of type 'RELU7'"));
  CHECK_FALSE(place.has("mine.yaml"));
}

TEST_CASE("The list of models has source, options with defaults, and each head's count",
          "[cli][list]") {
  const Workplace place("list_models");
  const nlohmann::json list = nlohmann::json::parse(place.run("list models --json").out);
  bool seen = false;
  for (const nlohmann::json& entry : list) {
    CAPTURE(entry.dump());
    CHECK(entry["parameters"].get<std::int64_t>() > 0);
    CHECK_FALSE(entry["source"].get<std::string>().empty());
    CHECK_FALSE(entry["options"].empty());
    if (entry["name"] != "googlenet") continue;
    seen = true;
    CHECK(entry["parameters_by_head"]["main"] == 6'624'904);
    CHECK(entry["parameters_by_head"]["aux"] == 13'004'888);
    CHECK(entry["options"][0]["name"] == "image_size");
    CHECK(entry["options"][0]["default"] == "224");
  }
  CHECK(seen);
}
