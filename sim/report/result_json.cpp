#include "sim/report/result_json.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <string>

#include "sim/report/efficiency_over.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/version.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

Json iteration_time(const Metrics& m) {
  return {{"mean", m.mean}, {"p50", m.p50}, {"p75", m.p75},  {"p90", m.p90},
          {"p95", m.p95},   {"low", m.low}, {"high", m.high}};
}

Json doubts(const RunResult& result) {
  Json list = Json::array();
  for (const Doubt& doubt : result.doubts) {
    list.push_back({{"name", doubt.name}, {"low", doubt.low}, {"high", doubt.high}});
  }
  return list;
}

Json breakdown(const Breakdown& seconds) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < part_names.size(); ++i) {
    parts[std::string(part_names[i])] = seconds[i];
  }
  return parts;
}

Json memory(const RankMemory& m) {
  Json json = {
      {"peak", m.peak},           {"weights", m.weights},         {"gradients", m.gradients},
      {"optimizer", m.optimizer}, {"activations", m.activations}, {"logits", m.logits},
      {"gathered", m.gathered},   {"buffers", m.buffers},         {"allocated", m.allocated},
      {"slack", m.slack},         {"context", m.context}};
  if (m.step > 0) json["step"] = m.step;
  if (m.capacity > 0) json["capacity"] = m.capacity;
  if (m.host > 0) json["host"] = m.host;
  if (m.host > 0 && m.host_capacity > 0) json["host_capacity"] = m.host_capacity;
  return json;
}

Json engine(const RunResult& r) {
  Json json = {{"solver", r.engine_solver}};
  if (!r.engine_simgrid.empty()) json["simgrid"] = r.engine_simgrid;
  json.update(Json{{"plan_s", r.engine_cost.plan_s},
                   {"run_s", r.engine_cost.run_s},
                   {"total_s", r.engine_cost.total_s},
                   {"peak_memory", std::llround(r.engine_cost.peak_memory)},
                   {"iterations_run", r.engine_cost.iterations_run},
                   {"links", r.engine_links},
                   {"flows", r.engine_flows},
                   {"link_classes", r.engine_link_classes},
                   {"flow_classes", r.engine_flow_classes}});
  return json;
}

Json links(const RunResult& result) {
  Json list = Json::array();
  for (const LinkReport& link : result.links) {
    list.push_back({{"name", link.name},
                    {"utilisation", link.utilisation},
                    {"bytes", std::llround(link.bytes)}});
  }
  return list;
}

Json warnings(const RunResult& result) {
  Json list = Json::array();
  for (const Warning& warning : result.warnings) {
    list.push_back({{"code", warning.code}, {"text", warning.text}});
  }
  return list;
}

}  // namespace

Json result_json(const Point& point) {
  const RunResult& r = point.result;
  const Metrics m = metrics_of(r);
  Json json;
  json["schema"] = result_schema;
  json["gradwire_version"] = gradwire_version;
  if (!point.label.empty()) json["label"] = point.label;
  json["scenario"] =
      point.scenario_json.empty() ? Json::object() : Json::parse(point.scenario_json);
  json["scenario_sha256"] = point.scenario_sha256;
  json["model"] = point.model;
  json["strategy"] = point.strategy;
  json["batch_per_gpu"] = r.batch_per_gpu;
  json["world_size"] = r.world_size;
  json["global_batch"] = m.global_batch;
  json["iteration_time_s"] = iteration_time(m);
  json["throughput_samples_per_s"] = m.throughput;
  json["throughput_per_gpu"] = m.throughput_per_gpu;
  json["single_gpu_throughput"] = m.single_gpu_throughput;
  json["scaling_efficiency"] = r.one_gpu_fits ? Json(m.scaling_efficiency) : Json();
  if (r.tokens_per_sample > 0) {
    json["tokens_per_s"] = m.tokens_per_s;
    json["tokens_per_s_per_gpu"] = m.tokens_per_s / r.world_size;
  }
  if (r.model_flops > 0) json["model_flops_per_gpu"] = m.flops_per_gpu;
  if (m.mfu > 0) json.update(Json{{"mfu", m.mfu}, {"hfu", m.hfu}});
  if (r.idle_ranks > 0) json["idle_ranks"] = r.idle_ranks;
  if (!r.one_gpu_fits) json["one_gpu_fits"] = false;
  if (r.memory) json["memory_bytes"] = memory(*r.memory);
  json["breakdown_s"] = breakdown(r.breakdown);
  if (r.breakdown_median) json["breakdown_median_s"] = breakdown(*r.breakdown_median);
  json["coding_estimate_s"] = {{"mean", r.coding_estimate_s},
                               {"low", r.coding_estimate_s / coding_factor},
                               {"high", r.coding_estimate_s * coding_factor}};
  json["doubts"] = doubts(r);
  json["communication"] = {{"collectives", r.collectives},
                           {"bytes_per_rank", r.bytes_per_rank},
                           {"busy_s", r.communication_busy_s},
                           {"overlap_fraction", r.overlap_fraction}};
  json["exactness"] = name_of(r.exactness);
  if (r.staleness) json["staleness"] = *r.staleness;
  json["contended"] = {{"bytes", std::llround(r.contended_bytes)}, {"longer_s", r.contended_s}};
  json["links"] = links(r);
  json["fidelity"] = {{"used", r.fidelity}, {"why", r.fidelity_why}};
  json["profile_source"] = r.profile_source;
  if (!r.framework.empty()) json["framework"] = r.framework;
  json["warnings"] = warnings(r);
  json["engine"] = engine(r);
  return json;
}

Json results_json(std::span<const Point> points) {
  Json list = Json::array();
  for (const Point& point : points) {
    Json json = result_json(point);
    add_efficiency_over(json, point, points);
    list.push_back(std::move(json));
  }
  return {{"schema", results_schema}, {"gradwire_version", gradwire_version}, {"results", list}};
}

}  // namespace gradwire
