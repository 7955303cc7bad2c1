#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/report/point.hpp"

namespace gradwire {

/// A point of ResNet-50 at batch 32 whose pooled samples are the given (seconds, count) pairs.
inline Point make_point(const std::string& label, int ranks,
                        const std::vector<std::pair<double, double>>& samples) {
  Point point;
  point.label = label;
  point.name = "test";
  point.model = "resnet50";
  point.strategy = label == "no ddp" ? "none" : "ddp";
  point.scenario_json = R"({"strategy": {"name": "ddp", "bucket_cap": "25 MiB"}})";
  point.scenario_sha256 = std::string(64, '0');
  RunResult& r = point.result;
  r.world_size = ranks;
  r.batch_per_gpu = 32;
  r.single_gpu_iteration_s = 0.08;
  for (const auto& [seconds, count] : samples) {
    r.samples.push_back(seconds);
    r.sample_weight.push_back(count);
  }
  r.iteration_s = {0.1};
  r.breakdown[static_cast<std::size_t>(Part::forward)] = 0.03;
  r.breakdown[static_cast<std::size_t>(Part::backward)] = 0.06;
  r.breakdown[static_cast<std::size_t>(Part::exposed_communication)] = 0.01;
  r.spread_low = 0.05;
  r.spread_high = 0.1;
  r.collectives = 5;
  r.bytes_per_rank = 204'456'256;
  r.communication_busy_s = 0.02;
  r.overlap_fraction = 0.5;
  r.contended_bytes = 3e9;
  r.contended_s = 0.004;
  r.links = {{"node0.nic0.up", 0.25, 1.5e9}, {"gpu0->gpu1", 0.125, 2e6}};
  r.profile_source = "recorded";
  r.fidelity = "fluid";
  r.fidelity_why = "the default";
  r.engine_cost = {.plan_s = 0.002, .run_s = 0.003, .total_s = 0.005, .peak_memory = 40e6};
  r.engine_solver = "simgrid";
  r.engine_simgrid = "SimGrid version 3.32";
  r.engine_links = 320;
  r.engine_flows = 640;
  r.engine_link_classes = 15;
  r.engine_flow_classes = 19;
  return point;
}

}  // namespace gradwire
