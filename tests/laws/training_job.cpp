#include "tests/laws/training_job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/core/random.hpp"

namespace gradwire::laws {
namespace {

struct Machine {
  const char* node;
  const char* gpu;
  int gpus;
  bool has_bf16;
  int ports = 4;  ///< at most, that our rings are laid well over (docs/collective_choices.md)
};
const std::vector<Machine> machines = {
    {"dgx1v", "v100-sxm2-16gb", 8, false},
    {"p3_16xlarge", "v100-sxm2-16gb", 8, false},
    {"pcie3_4x_v100", "v100-pcie-16gb", 4, false},
    {"pcie3_4x_2080ti", "rtx2080ti", 4, false},
    {"pcie4_4x_l40", "l40", 4, true},
    {"dgx_a100", "a100-sxm4-40gb", 8, true, 8},
    {"polaris", "a100-sxm4-40gb", 4, true},
    {"hgx_h100", "h100-sxm5-80gb", 8, true, 8},
};

struct Model {
  const char* name;
  int batch_max;
};
const std::vector<Model> models = {{"resnet50", 64},  {"vgg16", 64},       {"alexnet", 128},
                                   {"googlenet", 64}, {"bert_base", 16},   {"lstm_ptb", 32},
                                   {"gpt2", 4},       {"inception_v3", 32}};

int power_of_two(Draws& draws, int most) {
  const int powers = static_cast<int>(std::log2(most));
  return 1 << draws.below(powers + 1);
}

/// Payload of a port's nominal rate, and the least latency that its kind has, us.
void draw_port(Draws& draws, TrainingJob& job) {
  job.link_kind = draws.of<std::string>({"tcp", "roce", "ib"});
  job.port_gbit =
      job.link_kind == "tcp" ? draws.of<double>({1, 10, 25, 40}) : draws.of<double>({25, 50, 90});
  job.latency_us =
      job.link_kind == "tcp" ? draws.of<double>({10, 20, 50}) : draws.of<double>({0.5, 1, 2, 5});
  job.ports = draws.of<int>({1, 1, 2, 4});
}

std::string fabric_of(const TrainingJob& job) {
  std::string text = fmt::format(
      "{{kind: {}, link: {{bandwidth: {:.6g} Gbit/s, latency: {:.6g} us, kind: {}}}, "
      "links_per_node: {}",
      job.fabric, job.port_gbit, job.latency_us, job.link_kind, job.ports);
  if (job.gpudirect) text += fmt::format(", gpudirect: {}", *job.gpudirect);
  if (job.fabric == "fat_tree") {
    // By hash flows meet on a cable or do not: that is no law's matter.
    text += fmt::format(", nodes_per_leaf: {}, oversubscription: {:.6g}, routing: spread",
                        job.nodes_per_leaf, job.oversubscription);
  }
  return text + "}";
}

std::string stragglers_of(const TrainingJob& job) {
  std::string text = fmt::format("[{{fraction: 100 %, compute: {:.6g}}}", job.compute);
  if (job.straggler >= 0) {
    text += fmt::format(", {{ranks: [{}], compute: {:.6g}}}", job.straggler, job.straggler_factor);
  }
  return text + "]";
}

std::string placement_of(const TrainingJob& job) {
  std::vector<std::string> gpus;
  for (const int machine : job.machine_order) {
    for (int gpu = 0; gpu < job.gpus_per_node; ++gpu) {
      gpus.push_back(fmt::format("node{}.gpu{}", machine, gpu));
    }
  }
  return fmt::format("placement: [{}]\n", fmt::join(gpus, ", "));
}

}  // namespace

int Draws::below(int count) {
  return std::min(count - 1, static_cast<int>(uniform(seed_, drawn_++, 0, 0) * count));
}

bool Draws::chance(double share) {
  return uniform(seed_, drawn_++, 1, 0) < share;
}

std::string TrainingJob::yaml() const {
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("profile: {{model: {}, gpu: {}, batch_per_gpu: {}, dtype: {}{}{}{}}}\n", model,
                  gpu, batch, dtype, optimizer.empty() ? "" : ", optimizer: " + optimizer,
                  iteration_ms == 0 ? "" : fmt::format(", iteration_time: {:.6g} ms", iteration_ms),
                  host_time == 0 ? "" : fmt::format(", host_time: {:.6g} %", host_time)));
  lines.push_back(fmt::format("cluster: {{node: {}, nodes: {}, gpus_per_node: {}, fabric: {}}}\n",
                              node, machines, gpus_per_node, fabric_of(*this)));
  std::string posted = strategy;
  posted.insert(posted.size() - 1, fmt::format(", grad_accumulation: {}", micro_batches));
  lines.push_back("strategy: " + posted + "\n");
  lines.push_back("collective: " + collective + "\n");
  lines.push_back(fmt::format("run: {{iterations: {}, warmup: {}, seed: {}, fidelity: {}}}\n",
                              iterations, warmup, seed, fidelity));
  if (!jitter) lines.emplace_back("jitter: {iteration: 0 %, layer: 0 %}\n");
  if (straggler >= 0 || compute != 1) {
    lines.push_back("stragglers: " + stragglers_of(*this) + "\n");
  }
  if (!machine_order.empty()) lines.push_back(placement_of(*this));
  if (keys_reversed) std::ranges::reverse(lines);
  return fmt::format("schema: gradwire.scenario/1\n{}", fmt::join(lines, ""));
}

TrainingJob draw_job(std::uint64_t seed, const std::vector<std::string>& strategies) {
  Draws draws(seed);
  TrainingJob job;
  const Machine& machine = draws.of(machines);
  job.node = machine.node;
  job.gpu = machine.gpu;
  job.ports_most = machine.ports;
  const Model& model = draws.of(models);
  job.model = model.name;
  job.batch = power_of_two(draws, model.batch_max);
  job.dtype = !draws.chance(0.4) ? "fp32" : machine.has_bf16 ? "bf16" : "fp16";
  job.optimizer = draws.of<std::string>({"", "", "sgd", "adam"});
  job.micro_batches = draws.of<int>({1, 1, 1, 2});
  job.machines = draws.of<int>({1, 2, 2, 3, 4, 8});
  job.gpus_per_node = std::min(machine.gpus, power_of_two(draws, 8));
  draw_port(draws, job);
  job.fabric = draws.of<std::string>({"single_switch", "single_switch", "fat_tree"});
  if (job.fabric == "fat_tree") {  // whole cables upward: 8 down from a leaf
    job.ports = 4;
    job.oversubscription = draws.of<double>({1, 2, 4});
  }
  job.strategy = draws.of(strategies);
  job.collective = draws.of<std::string>({"{library: nccl}", "{library: nccl}",
                                          "{library: nccl, version: \"2.10\"}",
                                          "{library: nccl, version: \"2.4.8\"}"});
  if (draws.chance(0.25)) job.straggler = draws.below(job.world_size());
  job.jitter = draws.chance(0.25);
  job.seed = 1 + draws.below(1000);
  return job;
}

std::vector<TrainingJob> simpler(const TrainingJob& job) {
  const TrainingJob plain;
  std::vector<TrainingJob> jobs;
  const auto with = [&](auto TrainingJob::*field, auto value) {
    if (job.*field == value) return;
    jobs.push_back(job);
    jobs.back().*field = value;
  };
  with(&TrainingJob::straggler, plain.straggler);
  with(&TrainingJob::jitter, plain.jitter);
  with(&TrainingJob::fabric, plain.fabric);
  with(&TrainingJob::micro_batches, plain.micro_batches);
  with(&TrainingJob::optimizer, plain.optimizer);
  with(&TrainingJob::ports, plain.ports);
  with(&TrainingJob::collective, plain.collective);
  with(&TrainingJob::dtype, plain.dtype);
  with(&TrainingJob::model, plain.model);
  if (job.machine_order.empty()) {
    if (job.gpus_per_node > 1) with(&TrainingJob::gpus_per_node, job.gpus_per_node / 2);
    if (job.machines > 1) with(&TrainingJob::machines, job.machines / 2);
  }
  with(&TrainingJob::oversubscription, plain.oversubscription);
  with(&TrainingJob::batch, std::min(job.batch, 8));
  with(&TrainingJob::seed, plain.seed);
  return jobs;
}

}  // namespace gradwire::laws
