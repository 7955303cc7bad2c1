#include "sim/cli/lists.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <numeric>
#include <string>

#include "sim/config/data_files.hpp"
#include "sim/config/profile/model_catalogue.hpp"
#include "sim/config/profile/profile_yaml.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"
#include "sim/report/profile_text.hpp"

namespace gradwire::cli {
namespace {

using Json = nlohmann::ordered_json;
using config::DataKind;

ComputeProfile load_profile(const std::string& name) {
  return config::read_profile(
      config::loaded_yaml(config::data_file(DataKind::profile, name).string()));
}

std::string profile_summary(const ComputeProfile& p) {
  const std::string title = profile_title(p);
  return p.is_shape() ? title
                      : fmt::format("{}: {:.2f} ms an iteration, {}", title,
                                    1e3 * p.iteration.count(), p.source.kind);
}

/// The shipped profiles of each model, which their folders are named after.
std::map<std::string, Json> profiles_by_model() {
  std::map<std::string, Json> by_model;
  for (const std::string& name : config::data_names(DataKind::profile)) {
    Json& names = by_model[name.substr(0, name.find('/'))];
    if (names.is_null()) names = Json::array();
    names.push_back(name);
  }
  return by_model;
}

std::string flops_text(double flops) {
  constexpr double teraflop_from = 1e12;
  const bool large = flops >= teraflop_from;
  return fmt::format("{:.2f} {}", flops * (large ? 1e-12 : 1e-9), large ? "TFLOP" : "GFLOP");
}

Json model_json(const config::ModelEntry& entry, const Json& profiles) {
  const ModelDescription model = entry.make({});
  const double flops = std::accumulate(
      model.layers.begin(), model.layers.end(), 0.0,
      [](double sum, const ModelLayer& layer) { return sum + layer.forward.flops; });
  Json json = {{"name", entry.name},
               {"kind", "model"},
               {"summary", fmt::format("{}: {} parameters in {} tensors, {} forward", entry.summary,
                                       model.parameter_count(), model.gradient_order.size(),
                                       flops_text(flops))},
               {"parameters", model.parameter_count()},
               {"tensors", model.gradient_order.size()},
               {"layers", model.layers.size()},
               {"forward_flops", flops},
               {"source", model.source},
               {"options", options_json(entry.parameters)},
               {"profiles", profiles}};
  for (const std::string& head : entry.heads) {
    ModelOptions options;
    options.head = head;
    json["parameters_by_head"][head] = entry.make(options).parameter_count();
  }
  return json;
}

}  // namespace

Json options_json(const std::vector<config::KeyInfo>& options) {
  Json list = Json::array();
  for (const auto& option : options) {
    list.push_back({{"name", option.name},
                    {"value", describe(option.value)},
                    {"default", option.fallback},
                    {"source", option.doc}});
  }
  return list;
}

Json models_json() {
  const auto recorded = profiles_by_model();
  Json list = Json::array();
  for (const config::ModelEntry& entry : config::model_catalogue()) {
    const auto profiles = recorded.find(entry.name);
    list.push_back(
        model_json(entry, profiles == recorded.end() ? Json::array() : profiles->second));
  }
  return list;
}

Json profiles_json() {
  Json list = Json::array();
  for (const std::string& name : config::data_names(DataKind::profile)) {
    const ComputeProfile p = load_profile(name);
    list.push_back({{"name", name},
                    {"kind", "profile"},
                    {"summary", profile_summary(p)},
                    {"model", p.model},
                    {"gpu", p.gpu},
                    {"batch_per_gpu", p.batch_per_gpu},
                    {"dtype", p.dtype},
                    {"iteration_s", p.iteration.count()},
                    {"source", p.source.kind}});
  }
  return list;
}

}  // namespace gradwire::cli
