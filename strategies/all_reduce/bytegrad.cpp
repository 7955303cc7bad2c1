#include "strategies/all_reduce/bytegrad.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// MinMaxUInt8: minimum and maximum of a chunk as fp32 beside its bytes.
constexpr std::int64_t range_size = 8;
/// q_adam.py, calculate_momentum: mul_ reads and writes the moment, add_ reads the gradient too.
constexpr int moment_passes = 5;
constexpr int moment_kernels = 2;
constexpr int own_stream = 1;  ///< of collectives that are ready when posted

Collective collective(CollectiveKind kind, Bytes size, const PlanGroup& bucket,
                      FamilyId communicator) {
  return {.kind = kind,
          .size = size,
          .tensors = bucket.tensors,
          .label = "bucket",
          .communicator = communicator,
          .ready = Collective::Ready::at_once,
          .stream = own_stream};
}

DeviceWork codec(Bytes traffic, int kernels, std::string label) {
  return {.kind = WorkKind::encode,
          .traffic = traffic,
          .kernels = kernels,
          .label = std::move(label),
          .stream = DeviceStream::side,
          .notify = true};
}

}  // namespace

ByteGrad::ByteGrad(const ByteGradOptions& options, JobView job)
    : options_(options), job_(std::move(job)), bucket_of_(job_.tensors.size()) {
  const int machines = static_cast<int>(first_ranks(job_).size());
  in_machines_ = options_.hierarchical && job_.world_size > machines;
  talkers_ = options_.hierarchical ? machines : job_.world_size;
  // One that would overflow a bucket opens the next.
  for (const TensorId id : job_.gradient_order) {
    const Bytes size = job_.size_of(job_.tensor(id));
    if (buckets_.empty() || buckets_.back().size + size > options_.bucket) buckets_.emplace_back();
    PlanGroup& bucket = buckets_.back();
    bucket.tensors.push_back(id);
    bucket.elements += job_.tensor(id).elements;
    bucket.size += size;
    bucket_of_[static_cast<std::size_t>(id)] = buckets_.size() - 1;
  }
}

StrategyMaker ByteGrad::read(Knobs& knobs) {
  ByteGradOptions options;
  options.hierarchical = knobs.yes("hierarchical", options.hierarchical,
                                   "Bagua, ByteGradAlgorithm(hierarchical=True)");
  options.bucket = knobs.size("bucket", options.bucket, "BAGUA_DEFAULT_BUCKET_SIZE");
  options.momentum = knobs.yes("momentum", options.momentum,
                               "Bagua, QAdamAlgorithm after its warm-up: Adam's first moment goes");
  return [options](const JobView& job) { return std::make_unique<ByteGrad>(options, job); };
}

std::vector<CollectiveUse> ByteGrad::collectives() const {
  const auto talkers = options_.hierarchical ? families::leaders : families::all;
  std::vector<CollectiveUse> uses = {{CollectiveKind::all_to_all, talkers},
                                     {CollectiveKind::all_gather, talkers}};
  if (in_machines_) {
    uses.push_back({CollectiveKind::reduce, families::node});
    uses.push_back({CollectiveKind::broadcast, families::node});
  }
  return uses;
}

Bytes ByteGrad::wire_size(const PlanGroup& bucket) const {
  const std::int64_t chunk = (bucket.elements + talkers_ - 1) / talkers_;
  return Bytes{talkers_ * (chunk + range_size)};
}

std::vector<Operation> ByteGrad::steps(const PlanGroup& bucket) const {
  const auto talkers = options_.hierarchical ? families::leaders : families::all;
  const Bytes wire = wire_size(bucket);
  // Quantising reads twice, for the range and for the bytes; decoding writes once.
  const Bytes encoded = 2 * bucket.size + wire;
  const Bytes decoded = wire + bucket.size;
  const Bytes own{(2 * bucket.size.count() + wire.count()) / talkers_};
  std::vector<Operation> steps;
  if (options_.momentum) {
    steps.emplace_back(codec(moment_passes * bucket.size,
                             moment_kernels * static_cast<int>(bucket.tensors.size()), "momentum"));
  }
  if (in_machines_) {
    steps.emplace_back(collective(CollectiveKind::reduce, bucket.size, bucket, families::node));
  }
  steps.emplace_back(codec(encoded, 2, "quantise"));
  steps.emplace_back(collective(CollectiveKind::all_to_all, wire, bucket, talkers));
  // Chunks are decoded, read again to be added, and their mean is quantised.
  steps.emplace_back(codec(decoded + bucket.size + own, 4, "add chunks"));
  steps.emplace_back(collective(CollectiveKind::all_gather, wire, bucket, talkers));
  steps.emplace_back(codec(decoded, 1, "decode"));
  if (in_machines_) {
    steps.emplace_back(collective(CollectiveKind::broadcast, bucket.size, bucket, families::node));
  }
  return steps;
}

Operations ByteGrad::on_event(Seconds /*now*/, const Event& event) {
  if (std::holds_alternative<IterationStart>(event)) {
    start_iteration();
  } else if (const auto* fired = std::get_if<HookFired>(&event)) {
    if (job_.synchronises(fired->micro_batch)) hook(fired->tensor);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) poster_.post(Gate{.until = {over_}});
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    poster_.done(ended->operation);
  }
  return poster_.take();
}

void ByteGrad::start_iteration() {
  missing_.clear();
  for (const auto& bucket : buckets_) missing_.push_back(static_cast<int>(bucket.tensors.size()));
  left_ = buckets_.size();
  over_ = poster_.post(Flag{.label = "averaged"});
}

void ByteGrad::hook(TensorId tensor) {
  const std::size_t bucket = bucket_of_[static_cast<std::size_t>(tensor)];
  if (--missing_[bucket] > 0) return;
  poster_.post(launch_marker("bucket ready"), [this, bucket] {
    ready_.push_back(bucket);
    if (!busy_) next();
  });
}

void ByteGrad::next() {
  busy_ = !ready_.empty();
  if (!busy_) return;
  const std::size_t bucket = ready_.front();
  ready_.pop_front();
  run(bucket, 0);
}

void ByteGrad::run(std::size_t bucket, std::size_t step) {
  auto all = steps(buckets_[bucket]);
  if (step < all.size()) {
    poster_.post(std::move(all[step]), [this, bucket, step] { run(bucket, step + 1); });
    return;
  }
  if (--left_ == 0) poster_.post(Raise{.flag = over_});
  next();
}

std::vector<PlanGroup> ByteGrad::plan(int /*iteration*/) const {
  auto plan = buckets_;
  for (auto& bucket : plan) bucket.size = wire_size(bucket);
  return plan;
}

}  // namespace gradwire
