#include "sim/validation/published_rates.hpp"

namespace gradwire::validation {

std::vector<config::Field<PublishedRate>> published_rate_keys() {
  using Rate = PublishedRate;
  using config::field;
  using config::required;
  return {field("id", &Rate::id, "its own", {}, required),
          config::choice("role", &Rate::scored, {{"scored", true}, {"calibration", false}},
                         "whether something was fitted to it", required),
          field("rate", &Rate::rate, "samples a second", config::above(0.0), required),
          field("framework", &Rate::framework, "what ran it", {}, required),
          field("source", &Rate::source, "where it was published", {}, required),
          {{"profile", required, "as in a scenario, with `model`"},
           [](config::YamlMap& map, Rate& rate) {
             config::YamlMap profile = map.require_map("profile");
             rate.job = config::read_analytic_job(profile);
             profile.finish();
           }}};
}

}  // namespace gradwire::validation
