#include "sim/config/yaml/parallelism_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace gradwire::config {
namespace {

constexpr std::string_view data_parallelism = "data parallelism";

/// As bare() leaves them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 36> parallelism_pairs = {{
    {"tensor_parallel", "tensor parallelism"},
    {"tensor_parallelism", "tensor parallelism"},
    {"tensor_model_parallel", "tensor parallelism"},
    {"model_parallel", "tensor parallelism"},
    {"autotp", "tensor parallelism"},
    {"tp", "tensor parallelism"},
    {"pipeline_parallel", "pipeline parallelism"},
    {"pipeline_parallelism", "pipeline parallelism"},
    {"pipeline_model_parallel", "pipeline parallelism"},
    {"virtual_pipeline_model_parallel", "pipeline parallelism"},
    {"pipeline_stages", "pipeline parallelism"},
    {"pp", "pipeline parallelism"},
    {"context_parallel", "context parallelism"},
    {"context_parallelism", "context parallelism"},
    {"ring_attention", "context parallelism"},
    {"ulysses", "context parallelism"},
    {"ulysses_sequence_parallel", "context parallelism"},
    {"cp", "context parallelism"},
    {"sequence_parallel", "sequence parallelism"},
    {"sequence_parallelism", "sequence parallelism"},
    {"sp", "sequence parallelism"},
    {"expert_parallel", "expert parallelism"},
    {"expert_parallelism", "expert parallelism"},
    {"expert_model_parallel", "expert parallelism"},
    {"expert_tensor_parallel", "expert parallelism"},
    {"ep", "expert parallelism"},
    {"etp", "expert parallelism"},
    {"parallelism", "a model split over GPUs"},
    {"mp", "tensor parallelism"},
    {"data_parallel", data_parallelism},
    {"data_parallel_shard", data_parallelism},
    {"data_parallelism", data_parallelism},
    {"data_parallel_replicate", data_parallelism},
    {"dp", data_parallelism},
    {"dp_replicate", data_parallelism},
    {"dp_shard", data_parallelism},
}};

constexpr std::array<std::string_view, 3> counts = {"_degree", "_size", "_world_size"};

/// "--Tensor-Parallel-Size" -> "tensor_parallel"
std::string bare(std::string_view key) {
  std::string text(key);
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  text.erase(0, std::min(text.find_first_not_of('_'), text.size()));
  if (text.starts_with("num_")) text.erase(0, 4);
  for (const std::string_view count : counts) {
    if (text.ends_with(count)) text.erase(text.size() - count.size());
  }
  return text;
}

}  // namespace

std::string parallelism_refusal(std::string_view key) {
  const std::string word = bare(key);
  const auto* const found = std::ranges::find(parallelism_pairs, std::string_view(word),
                                              &decltype(parallelism_pairs)::value_type::first);
  if (found == parallelism_pairs.end()) return "";
  if (found->second == data_parallelism) {
    return fmt::format(
        "'{}' follows from the GPUs of 'cluster', all of which are data-parallel; expected no such "
        "key ('data_parallel_shard_degree' of fsdp2 and hsdp says how many share one copy)",
        key);
  }
  return fmt::format(
      "not modelled yet: {} ({}); expected no such key: every GPU of 'cluster' works on samples of "
      "its own, and strategies such as fsdp2 shard what one cannot hold",
      key, found->second);
}

}  // namespace gradwire::config
