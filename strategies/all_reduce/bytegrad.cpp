#include "strategies/all_reduce/bytegrad.hpp"

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

ByteGrad::ByteGrad(const ByteGradOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      buckets_(job, cut_into_groups(job, job.gradient_order, overflowing(job, options.bucket))) {
  const int machines = static_cast<int>(first_ranks(job).size());
  in_machines_ = options_.hierarchical && job.world_size > machines;
  talkers_ = options_.hierarchical ? machines : job.world_size;
}

StrategyMaker ByteGrad::read(Knobs& knobs) {
  ByteGradOptions options;
  knobs.read("hierarchical", options.hierarchical, "Bagua, ByteGradAlgorithm(hierarchical=True)");
  knobs.read("bucket", options.bucket, "BAGUA_DEFAULT_BUCKET_SIZE");
  knobs.read("momentum", options.momentum,
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

Operations ByteGrad::steps(const PlanGroup& bucket) const {
  const auto talkers = options_.hierarchical ? families::leaders : families::all;
  const Bytes wire = wire_size(bucket);
  // Quantising reads twice, for the range and for the bytes; decoding writes once.
  const Bytes encoded = 2 * bucket.size + wire;
  const Bytes decoded = wire + bucket.size;
  const Bytes own{(2 * bucket.size.count() + wire.count()) / talkers_};
  Operations steps;
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

void ByteGrad::begin(int /*iteration*/, WorkerId /*worker*/) {
  averaged_.expect(poster_, buckets_.size(), "averaged");
}

void ByteGrad::gradient(TensorId tensor, WorkerId /*worker*/) {
  const auto bucket = buckets_.arrived(tensor);
  if (!bucket) return;
  poster_.post(launch_marker("bucket ready"), [this, bucket = *bucket] {
    ready_.push(bucket);
    average_next();
  });
}

void ByteGrad::average_next() {
  const auto bucket = ready_.take(1);
  if (!bucket) return;
  poster_.post_in_turn(steps(buckets_[*bucket]), [this] {
    ready_.ended();
    averaged_.end(poster_);
    average_next();
  });
}

std::vector<PlanGroup> ByteGrad::plan(int /*iteration*/) const {
  auto plan = buckets_.all();
  for (auto& bucket : plan) bucket.size = wire_size(bucket);
  return plan;
}

}  // namespace gradwire
