#include "strategies/peers/decentralized.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/core/random.hpp"
#include "strategies/parts/gradient_groups.hpp"
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

Decentralized::Decentralized(const DecentralizedOptions& options, const JobView& job)
    : StepStrategy(job),
      options_(options),
      talkers_(options.hierarchical ? first_ranks(job) : all_ranks(job)),
      buckets_(cut_into_groups(job,
                               reverse_registration_order(static_cast<int>(job.tensors.size())),
                               overflowing(job, options.bucket))) {
  std::map<int, int> ranks_on;
  for (const int machine : job_.machine_of) local_ = std::max(local_, ++ranks_on[machine]);
  if (job_.machine_of.empty()) local_ = job_.world_size;
}

StrategyMaker Decentralized::read(Knobs& knobs) {
  static const std::vector<std::string> precisions = {"full", "low"};
  static const std::vector<std::string> modes = {"all", "shift_one", "random", "ring"};
  DecentralizedOptions options;
  options.low_precision =
      knobs.choice("precision", "full", precisions,
                   "Bagua's DecentralizedAlgorithm, LowPrecisionDecentralizedAlgorithm") == "low";
  knobs.read("hierarchical", options.hierarchical, "Bagua, both algorithms");
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
  knobs.read("bucket", options.bucket, "BAGUA_DEFAULT_BUCKET_SIZE");
  options.seed = static_cast<std::uint64_t>(knobs.count(
      "seed", 1, 0, std::numeric_limits<std::int64_t>::max(), "of the draws of mode random: ours"));
  return [options](const JobView& job) { return std::make_unique<Decentralized>(options, job); };
}

Traits Decentralized::traits() const {
  return {.dynamic = true, .own_optimizer = options_.low_precision, .exactness = Exactness::stale};
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

void Decentralized::begin(int iteration, WorkerId /*worker*/) {
  iteration_ = iteration;
  if (!communicates()) return;
  averaged_.expect(poster_, buckets_.size(), "averaged");
  if (!options_.low_precision) average_all();
}

void Decentralized::average_all() {
  for (const PlanGroup& bucket : buckets_) {
    poster_.post_in_turn(steps(bucket), [this] {
      averaged_.end(poster_);
      if (averaged_.left() == 0) ++talks_;
    });
  }
}

void Decentralized::finish(WorkerId /*worker*/) {
  if (options_.low_precision) poster_.post(OptimizerStep{.share = 1, .label = "optimizer"});
  if (!communicates()) return;
  if (options_.low_precision) {
    poster_.post(launch_marker("updated"), [this] { average_all(); });
  }
  poster_.post(Gate{.until = {averaged_.flag()}});
  if (!options_.low_precision) copy_back();
}

/// What was averaged beside the computation takes the place of the weights.
void Decentralized::copy_back() {
  Bytes model{0};
  std::vector<OperationId> spread;
  for (const PlanGroup& bucket : buckets_) {
    model += bucket.size;
    if (!has_machines()) continue;
    spread.push_back(poster_.post(within_machine(CollectiveKind::broadcast, bucket)));
  }
  if (has_machines()) poster_.post(Gate{.until = std::move(spread)});
  poster_.post(DeviceWork{.traffic = 2 * model,
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

Operations Decentralized::steps(const PlanGroup& bucket) const {
  Operations steps;
  const auto beside = [](Collective collective, int stream) {
    collective.ready = Collective::Ready::at_once;
    collective.stream = stream;
    return collective;
  };
  const auto codec = [](Bytes traffic, int kernels, const char* label) {
    return DeviceWork{.kind = WorkKind::encode,
                      .traffic = traffic,
                      .kernels = kernels,
                      .label = label,
                      .stream = DeviceStream::side,
                      .notify = true};
  };
  if (has_machines()) {
    steps.emplace_back(beside(within_machine(CollectiveKind::reduce, bucket), talk_stream));
  }
  Collective exchange{
      .size = bucket.size, .tensors = bucket.tensors, .label = "bucket", .communicator = talking()};
  if (options_.peers == PeerSelection::all) {
    steps.emplace_back(beside(std::move(exchange), talk_stream));
    return steps;
  }
  if (talkers_.size() < 2) return steps;
  const Bytes wire = wire_size(bucket);
  if (!options_.low_precision) {
    steps.emplace_back(Messages{
        .exchange = matching(), .size = wire, .tensors = bucket.tensors, .label = "exchange"});
    return steps;
  }
  steps.emplace_back(
      codec(encode_accesses * bucket.size + wire, encode_kernels, "compress difference"));
  // To both neighbours and from both: what one would get and give, twice.
  exchange.kind = CollectiveKind::send_recv;
  exchange.size = 2 * wire;
  exchange.label = "exchange";
  steps.emplace_back(beside(std::move(exchange), talk_stream));
  steps.emplace_back(codec(replicas * (wire + decode_accesses * bucket.size),
                           replicas * decode_kernels, "add differences"));
  if (has_machines()) {
    steps.emplace_back(beside(within_machine(CollectiveKind::broadcast, bucket), spread_stream));
  }
  return steps;
}

std::vector<PlanGroup> Decentralized::plan(int /*iteration*/) const {
  auto plan = buckets_;
  for (auto& bucket : plan) bucket.size = wire_size(bucket);
  return plan;
}

}  // namespace gradwire
