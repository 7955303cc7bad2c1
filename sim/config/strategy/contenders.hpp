#pragma once

#include <string>
#include <vector>

#include "sim/config/yaml/yaml_value.hpp"

namespace gradwire::config {

/// One of the strategies that `gradwire compare` runs a job under.
struct Contender {
  std::string name;    ///< as written: "ddp", "horovod/0.28", "ddp+powersgd(rank=4)"
  std::string choice;  ///< the strategy or the preset: "ddp"
  bool is_preset = false;
  YamlValue strategy;  ///< what the scenario's `strategy` is to hold; a mapping
};

/// What `--strategies all` stands for: every strategy of the catalogue with its defaults, variants
/// that the literature compares, and each compression on DDP. Where a strategy begins with
/// plain all-reduces for some iterations, without those.
[[nodiscard]] std::vector<std::string> all_contenders();

/// Reads a list "a,b,c": of each a strategy or a preset, knobs in parentheses, and a compression
/// with its own: "ddp", "horovod/0.28", "kungfu_sync(graph=RING)", "ddp(bucket_cap=1 MiB)+fp16".
/// @param file  the name that errors give, "--strategies".
/// @throws ConfigError for a name that is neither, with the nearest; when it cannot be read.
[[nodiscard]] std::vector<Contender> parse_contenders(const std::string& text,
                                                      const std::string& file);

/// Puts a contender in the place of a scenario's strategy. Where the scenario names the same
/// strategy, its knobs stay as they are beside those of the contender; of another strategy's only
/// `grad_accumulation`, `gradient_dtype` and `compression` (unless the contender or its preset
/// brings its own), and `servers` if the contender's strategy can have them.
void put_contender(YamlValue& scenario, const Contender& contender);

}  // namespace gradwire::config
