#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradwire::laws {

/// Draws from a seed: the same sequence on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  /// One of 0 .. count - 1. REQUIRES: count >= 1.
  int below(int count);
  /// True in this share of draws.
  bool chance(double share);
  template <class Item>
  const Item& of(const std::vector<Item>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

/// A training job as a user could write it. Every field has its place in yaml(); what is left at
/// its default here is what shrinking comes to.
struct TrainingJob {
  std::string model = "resnet50";
  std::string gpu = "v100-sxm2-16gb";
  std::string node = "dgx1v";
  std::string dtype = "fp32";
  int batch = 32;
  std::string optimizer;  ///< "" the model's own
  int micro_batches = 1;

  int machines = 2;
  int gpus_per_node = 2;
  int ports = 1;
  int ports_most = 8;      ///< of the machine; stands in no YAML
  double port_gbit = 25;   ///< Gbit/s
  double latency_us = 10;  ///< us
  std::string link_kind = "tcp";
  std::optional<bool> gpudirect;
  std::string fabric = "single_switch";
  int nodes_per_leaf = 2;
  double oversubscription = 1;

  std::string strategy = "{name: ddp}";
  std::string collective = "{library: nccl}";

  int straggler = -1;  ///< rank, -1: none
  double straggler_factor = 2;
  double compute = 1;  ///< time of every rank's GPU as a multiple of its own
  bool jitter = false;
  std::vector<int> machine_order;  ///< of the placement; empty: packed
  bool keys_reversed = false;      ///< of the YAML's top level
  int iterations = 4;
  int warmup = 2;
  std::string fidelity = "auto";
  double iteration_ms = 0;  ///< of the profile, measured elsewhere; 0: its own
  double host_time = 0;     ///< %, of the profile; 0: its own
  int seed = 1;

  [[nodiscard]] int world_size() const { return machines * gpus_per_node; }
  [[nodiscard]] std::string yaml() const;
};

/// A random job of the strategies in `strategies`, as contenders are written.
[[nodiscard]] TrainingJob draw_job(std::uint64_t seed, const std::vector<std::string>& strategies);

/// The job, simpler in one respect each.
[[nodiscard]] std::vector<TrainingJob> simpler(const TrainingJob& job);

}  // namespace gradwire::laws
