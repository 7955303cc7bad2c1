#pragma once

#include <utility>
#include <vector>

#include "strategies/compression/compressed.hpp"
#include "strategies/strategy.hpp"

namespace gradwire::test {

/// Two matrices of 64 x 32 and 100 x 10 and a vector of 64, in layers of their own, on four ranks
/// of two machines.
inline JobView matrix_job() {
  JobView job;
  job.world_size = 4;
  job.machines = 2;
  job.machine_of = {0, 0, 1, 1};
  job.server_machine = {0, 1};
  job.tensors = {
      {"vector", 64, 0, {64}}, {"small", 1000, 1, {100, 10}}, {"large", 2048, 2, {64, 8, 4}}};
  job.gradient_order = {2, 1, 0};
  job.host_copy_bandwidth = BytesPerSecond{1e9};
  job.message_latency = Seconds{1e-5};
  job.cpu.sum_rate = BytesPerSecond{14.2e9};
  return job;
}

/// All tensors of the job in one all-reduce.
inline TensorGroup whole_group(const JobView& job, int iteration = 0) {
  TensorGroup group{.tensors = job.gradient_order, .ranks = job.world_size, .iteration = iteration};
  for (const auto& tensor : job.tensors) group.elements += tensor.elements;
  group.encoded = group.elements;
  group.decoded = group.elements;
  return group;
}

/// Sizes of the transfers, by round.
inline std::vector<std::vector<std::int64_t>> sizes_of(const Recipe& recipe) {
  std::vector<std::vector<std::int64_t>> sizes;
  for (const auto& round : recipe.rounds) {
    sizes.emplace_back();
    for (const auto& transfer : round.transfers) sizes.back().push_back(transfer.size.count());
  }
  return sizes;
}

/// Costs that say the same of everyone: an encoding takes 1 ns an element, a decoding 2 ns.
class FlatCosts final : public EncodeCosts {
 public:
  [[nodiscard]] std::optional<MeasuredTime> encode(const std::string& /*compressor*/,
                                                   CodecDevice /*device*/,
                                                   std::int64_t elements) const override {
    return MeasuredTime{static_cast<double>(elements) * Seconds{1e-9}};
  }
  [[nodiscard]] std::optional<MeasuredTime> decode(const std::string& /*compressor*/,
                                                   CodecDevice /*device*/,
                                                   std::int64_t elements) const override {
    return MeasuredTime{static_cast<double>(elements) * Seconds{2e-9}};
  }
};

/// A strategy that answers each event with the operations it was given for it, in turn, and keeps
/// what it was told has ended.
class Scripted final : public Strategy {
 public:
  explicit Scripted(std::vector<Operations> answers, bool dynamic = false,
                    std::vector<Exchange> exchanges = {})
      : answers_(std::move(answers)), dynamic_(dynamic), exchanges_(std::move(exchanges)) {}

  Operations on_event(Seconds /*now*/, const Event& event) override {
    if (const auto* end = std::get_if<OperationDone>(&event)) ended.push_back(end->operation);
    return next_ < answers_.size() ? answers_[next_++] : Operations{};
  }
  [[nodiscard]] Traits traits() const override { return {.dynamic = dynamic_}; }
  [[nodiscard]] std::vector<Exchange> exchanges() const override { return exchanges_; }
  [[nodiscard]] std::vector<PlanGroup> plan(int /*iteration*/) const override { return {}; }

  std::vector<OperationId> ended;

 private:
  std::vector<Operations> answers_;
  bool dynamic_;
  std::vector<Exchange> exchanges_;
  std::size_t next_ = 0;
};

}  // namespace gradwire::test
