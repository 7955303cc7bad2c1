#pragma once

#include <string>
#include <vector>

#include "sim/config/profile/analytic_key.hpp"
#include "sim/config/yaml/fields.hpp"

namespace gradwire::validation {

/// A published rate of one GPU, as results/reference has it.
struct PublishedRate {
  std::string id;
  bool scored = false;         ///< else something was fitted to it
  double rate = 0;             ///< samples a second
  bool with_optimizer = true;  ///< the optimizer's step is in it
  std::string framework;
  std::string source;
  config::AnalyticJob job;
};

/// The keys of such a row: `id`, `role`, `rate`, `framework`, `source`, `profile`.
[[nodiscard]] std::vector<config::Field<PublishedRate>> published_rate_keys();

}  // namespace gradwire::validation
