#include "strategies/peers/decentralized.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/random.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

/// Streams of collectives that are ready when posted.
constexpr int talk_stream = 1;
constexpr int spread_stream = 2;
/// MinMaxUInt8: a byte an element, and minimum and maximum as fp32.
constexpr std::int64_t range_size = 8;
constexpr int interval_most = 1'000'000;
/// Low precision keeps replicas of the weights: of each neighbour's and of its own as they were
/// sent. Accesses are of memory, in times a bucket's weights, beside what is on the wire; they and
/// the kernels follow the calls in Bagua's decentralized_low_precision_synchronous.rs.
constexpr int replicas = 3;
/// Weights and replicas are read, the difference is written, and read to be quantised. That what is
/// between the three sums stays in the cache, and that a call is one kernel, is assumed.
constexpr std::int64_t encode_accesses = 1 + replicas + 1 + 1;
constexpr int encode_kernels = replicas + 1;  // a sum each, the quantisation
/// Of one replica: its difference is written, both are read, the sum is written. The copy of the
/// last sum is not counted.
constexpr std::int64_t decode_accesses = 1 + 2 + 1;
constexpr int decode_kernels = 2;

}  // namespace

Decentralized::Decentralized(const DecentralizedOptions& options, JobView job)
    : options_(options), job_(std::move(job)) {
  std::map<int, int> ranks_on;
  for (const int machine : job_.machine_of) local_ = std::max(local_, ++ranks_on[machine]);
  if (job_.machine_of.empty()) local_ = job_.world_size;
  talkers_ = options_.hierarchical ? first_ranks(job_) : all_ranks(job_);
  // Tensors in reverse registration order; one that would overflow a bucket opens the next.
  for (auto id = static_cast<TensorId>(job_.tensors.size()) - 1; id >= 0; --id) {
    const TensorInfo& tensor = job_.tensor(id);
    if (buckets_.empty() || buckets_.back().size + job_.size_of(tensor) > options_.bucket) {
      buckets_.emplace_back();
    }
    buckets_.back().tensors.push_back(id);
    buckets_.back().elements += tensor.elements;
    buckets_.back().size += job_.size_of(tensor);
  }
}

StrategyMaker Decentralized::read(Knobs& knobs) {
  static const std::vector<std::string> precisions = {"full", "low"};
  static const std::vector<std::string> modes = {"all", "shift_one", "random", "ring"};
  DecentralizedOptions options;
  options.low_precision =
      knobs.choice("precision", "full", precisions,
                   "Bagua's DecentralizedAlgorithm, LowPrecisionDecentralizedAlgorithm") == "low";
  options.hierarchical = knobs.yes("hierarchical", options.hierarchical, "Bagua, both algorithms");
  const std::string mode =
      knobs.choice("peer_selection_mode", options.low_precision ? "ring" : "all", modes,
                   "Bagua's DecentralizedAlgorithm: all; low precision: ring only. random: ours");
  options.peers = static_cast<PeerSelection>(std::ranges::find(modes, mode) - modes.begin());
  if (options.low_precision && options.peers != PeerSelection::ring) {
    knobs.refuse("peer_selection_mode",
                 "'peer_selection_mode' is '" + mode + "'; expected ring with precision low");
  }
  options.interval = static_cast<int>(
      knobs.count("communication_interval", options.interval, 1, interval_most, "Bagua"));
  options.bucket = knobs.size("bucket", options.bucket, "BAGUA_DEFAULT_BUCKET_SIZE");
  options.seed = static_cast<std::uint64_t>(knobs.count(
      "seed", 1, 0, std::numeric_limits<std::int64_t>::max(), "of the draws of mode random: ours"));
  return [options](const JobView& job) { return std::make_unique<Decentralized>(options, job); };
}

Traits Decentralized::traits() const {
  return {.dynamic = true, .own_optimizer = options_.low_precision};
}

std::vector<CollectiveUse> Decentralized::collectives() const {
  std::vector<CollectiveUse> uses;
  if (has_machines()) {
    uses.push_back({CollectiveKind::reduce, families::node});
    uses.push_back({CollectiveKind::broadcast, families::node});
  }
  if (options_.peers == PeerSelection::all) {
    uses.push_back({CollectiveKind::all_reduce, talking()});
  } else if (options_.low_precision && talkers_.size() > 1) {
    uses.push_back({CollectiveKind::send_recv, talking()});
  }
  return uses;
}

std::vector<Exchange> Decentralized::exchanges() const {
  const auto gpu = [&](std::size_t talker) { return gpu_of(talkers_[talker]); };
  const std::size_t count = talkers_.size();
  if (count < 2 || options_.low_precision || options_.peers == PeerSelection::all) return {};
  if (options_.peers == PeerSelection::ring) {
    Exchange ring{.name = "ring", .phases = {{}}};
    for (std::size_t talker = 0; talker < count; ++talker) {
      ring.phases.front().push_back({gpu(talker), gpu((talker + 1) % count)});
      ring.phases.front().push_back({gpu(talker), gpu((talker + count - 1) % count)});
    }
    return {ring};
  }
  // Step s pairs talker t of the first half with half + (s + t) mod half.
  const std::size_t half = count / 2;
  std::vector<Exchange> matchings;
  for (std::size_t step = 0; step < half; ++step) {
    Exchange pairs{.name = "shift " + std::to_string(step), .phases = {{}}};
    for (std::size_t talker = 0; talker < half; ++talker) {
      const std::size_t peer = half + (step + talker) % half;
      pairs.phases.front().push_back({gpu(talker), gpu(peer)});
      pairs.phases.front().push_back({gpu(peer), gpu(talker)});
    }
    matchings.push_back(std::move(pairs));
  }
  return matchings;
}

int Decentralized::matching() const {
  if (options_.peers == PeerSelection::ring) return 0;
  const auto half = static_cast<std::uint64_t>(talkers_.size() / 2);
  const auto step = static_cast<std::uint64_t>(talks_);
  const std::uint64_t drawn =
      options_.peers == PeerSelection::random ? absorb(absorb(0, options_.seed), step) : step;
  return static_cast<int>(drawn % half);
}

Bytes Decentralized::wire_size(const PlanGroup& bucket) const {
  return options_.low_precision ? Bytes{bucket.elements + range_size} : bucket.size;
}

Operations Decentralized::on_event(Seconds /*now*/, const Event& event) {
  if (const auto* start = std::get_if<IterationStart>(&event)) {
    start_iteration(start->iteration);
  } else if (const auto* done = std::get_if<BackwardDone>(&event)) {
    if (job_.synchronises(done->micro_batch)) finish();
  } else if (const auto* ended = std::get_if<OperationDone>(&event)) {
    advance(ended->operation);
  }
  return writer_.take();
}

void Decentralized::start_iteration(int iteration) {
  iteration_ = iteration;
  if (!communicates()) return;
  missing_ = buckets_.size();
  all_there_ = writer_.post(Flag{.label = "averaged"});
  if (options_.low_precision) return;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) gather(static_cast<int>(bucket));
}

void Decentralized::finish() {
  if (options_.low_precision) {
    writer_.post(OptimizerStep{.share = 1, .label = "optimizer"});
    if (!communicates()) return;
    post(Stage::updated, 0, launch_marker("updated"));
  }
  if (!communicates()) return;
  writer_.post(Gate{.until = {all_there_}});
  if (options_.low_precision) return;
  // What was averaged beside the computation takes the place of the weights.
  Bytes model{0};
  for (const auto& bucket : buckets_) model += bucket.size;
  std::vector<OperationId> spread;
  if (has_machines()) {
    for (const auto& bucket : buckets_) {
      spread.push_back(writer_.post(within_machine(CollectiveKind::broadcast, bucket)));
    }
    writer_.post(Gate{.until = std::move(spread)});
  }
  writer_.post(DeviceWork{.traffic = 2 * model,
                          .kernels = static_cast<int>(buckets_.size()),
                          .label = "copy averages back"});
}

Collective Decentralized::within_machine(CollectiveKind kind, const PlanGroup& bucket) {
  return {.kind = kind,
          .size = bucket.size,
          .tensors = bucket.tensors,
          .label = "bucket",
          .communicator = families::node};
}

void Decentralized::post(Stage stage, int bucket, Operation operation) {
  pending_[writer_.post(std::move(operation))] = {stage, bucket};
}

/// Averages a bucket in every machine, where it has several GPUs that do not talk for themselves.
void Decentralized::gather(int bucket) {
  if (!has_machines()) {
    talk(bucket);
    return;
  }
  auto reduce = within_machine(CollectiveKind::reduce, buckets_[static_cast<std::size_t>(bucket)]);
  reduce.ready = Collective::Ready::at_once;
  reduce.stream = talk_stream;
  post(Stage::gathered, bucket, std::move(reduce));
}

void Decentralized::talk(int index) {
  const PlanGroup& bucket = buckets_[static_cast<std::size_t>(index)];
  if (options_.peers == PeerSelection::all) {
    post(Stage::exchanged, index,
         Collective{.size = bucket.size,
                    .tensors = bucket.tensors,
                    .label = "bucket",
                    .communicator = talking(),
                    .ready = Collective::Ready::at_once,
                    .stream = talk_stream});
    return;
  }
  if (talkers_.size() < 2) {
    bucket_over();
    return;
  }
  if (options_.low_precision) {
    post(Stage::encoded, index,
         DeviceWork{.kind = WorkKind::encode,
                    .traffic = encode_accesses * bucket.size + wire_size(bucket),
                    .kernels = encode_kernels,
                    .label = "compress difference",
                    .stream = DeviceStream::side,
                    .notify = true});
    return;
  }
  post(Stage::exchanged, index,
       Messages{.exchange = matching(),
                .size = wire_size(bucket),
                .tensors = bucket.tensors,
                .label = "exchange"});
}

void Decentralized::advance(OperationId operation) {
  const auto found = pending_.find(operation);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  const PlanGroup& bucket = buckets_[static_cast<std::size_t>(pending.bucket)];
  switch (pending.stage) {
    case Stage::updated:
      for (std::size_t index = 0; index < buckets_.size(); ++index) {
        gather(static_cast<int>(index));
      }
      break;
    case Stage::gathered:
      talk(pending.bucket);
      break;
    case Stage::encoded:
      // To both neighbours and from both: what one would get and give, twice.
      post(Stage::exchanged, pending.bucket,
           Collective{.kind = CollectiveKind::send_recv,
                      .size = 2 * wire_size(bucket),
                      .tensors = bucket.tensors,
                      .label = "exchange",
                      .communicator = talking(),
                      .ready = Collective::Ready::at_once,
                      .stream = talk_stream});
      break;
    case Stage::exchanged:
      if (!options_.low_precision) {
        bucket_over();
        break;
      }
      post(Stage::decoded, pending.bucket,
           DeviceWork{.kind = WorkKind::encode,
                      .traffic = replicas * (wire_size(bucket) + decode_accesses * bucket.size),
                      .kernels = replicas * decode_kernels,
                      .label = "add differences",
                      .stream = DeviceStream::side,
                      .notify = true});
      break;
    case Stage::decoded: {
      if (!has_machines()) {
        bucket_over();
        break;
      }
      auto broadcast = within_machine(CollectiveKind::broadcast, bucket);
      broadcast.ready = Collective::Ready::at_once;
      broadcast.stream = spread_stream;
      post(Stage::spread, pending.bucket, std::move(broadcast));
      break;
    }
    case Stage::spread:
      bucket_over();
      break;
  }
}

void Decentralized::bucket_over() {
  if (--missing_ > 0) return;
  writer_.post(Raise{.flag = all_there_});
  ++talks_;
}

std::vector<PlanGroup> Decentralized::plan(int /*iteration*/) const {
  auto plan = buckets_;
  for (auto& bucket : plan) bucket.size = wire_size(bucket);
  return plan;
}

}  // namespace gradwire
