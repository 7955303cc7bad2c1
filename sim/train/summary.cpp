#include "sim/train/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sim/core/cluster.hpp"
#include "sim/core/statistics.hpp"
#include "sim/engine/simgrid_transport.hpp"
#include "sim/train/assumed_machines.hpp"
#include "sim/train/doubts.hpp"
#include "sim/train/inputs.hpp"
#include "sim/train/model_work.hpp"
#include "sim/train/own_compute.hpp"

namespace gradwire {
namespace {

/// `other`, what no span explains, stays under this share of the iteration.
constexpr double other_max = 0.01;
/// What is left of an iteration when all its parts are known is the rounding of some thousand sums
/// where it is below nothing by less than this share.
constexpr double rounding_max = 1e-9;
/// A choice of the library is warned of where it carries so much of the bytes of a kind of
/// collective. Assumed: what carries less hardly counts.
constexpr double choice_share_min = 0.1;

/// How far compute times of a profile may be off, relative. Where a model made or changed them, its
/// own error and a recording's; else by where they come from.
RelativeError profile_uncertainty(const ComputeProfile& profile, const ProfileErrors& errors) {
  const auto both = [](double error) { return RelativeError{error, error}; };
  if (profile.model_error != RelativeError{}) {
    return together(profile.model_error, both(errors.recorded));
  }
  const std::string& kind = profile.source.kind;
  if (kind == "recorded") return both(errors.recorded);
  if (kind == "imported") return both(errors.imported);
  if (kind == "analytic-scaled") return both(errors.scaled);
  return both(kind == "derived" ? errors.derived : errors.analytic);
}

/// How far the time of a collective may be off, relative.
double cost_uncertainty(const std::string& source, const DoubtWidths& widths) {
  if (source == "table") return widths.cost_table;
  return source == "fit" ? widths.cost_fit : widths.cost_model;
}

/// Parts without the roundings that are below nothing.
void drop_roundings(Breakdown& parts, double iteration) {
  for (double& part : parts) {
    if (part < 0 && part > -rounding_max * iteration) part = 0;
  }
}

double at(const Breakdown& parts, Part part) {
  return parts[static_cast<std::size_t>(part)];
}

/// Seconds of the sample's own kernels.
double compute_of(const IterationSample& sample) {
  return at(sample.parts, Part::forward) + at(sample.parts, Part::backward) +
         at(sample.parts, Part::optimizer);
}

}  // namespace

Summary::Summary(const Job& job, const std::vector<MemberGroup>& members, bool independent,
                 std::optional<int> lead)
    : job_(job), members_(members), independent_(independent), lead_(lead) {
  result_.world_size = static_cast<int>(job.placement.size());
  result_.batch_per_gpu = job.profile.batch_per_gpu;
  result_.micro_batches = micro_batches_of(job);
  result_.model_ranks = ranks_of_replica(job);
  add_work(job.profile, job.gpu, class_count(job) == 1, result_);
  for (const MemberGroup& member : members) {
    const ComputeProfile& profile = profile_of(job, member);
    const RelativeError uncertainty = profile_uncertainty(profile, job.gpu.errors);
    if (uncertainty.high <= worst_profile_.high) continue;
    worst_profile_ = uncertainty;
    result_.profile_source = profile.source.kind;
    result_.framework = profile.framework;
  }
  result_.single_gpu_iteration_s = own_iteration(job, members);
  const auto slowest = std::ranges::max_element(members, {}, [&](const MemberGroup& member) {
    return std::pair(member.inputs > job.run.warmup, member.speed * device_time(job, member));
  });
  if (independent_ && job_.run.warmup > 0) warming_ = members_.size();
  slowest_member_ = static_cast<std::size_t>(slowest - members.begin());
}

void Summary::Posted::add(std::optional<PatternId> pattern, Bytes size) {
  ++count;
  if (!pattern) return;
  const auto index = static_cast<std::size_t>(*pattern);
  if (bytes.size() <= index) bytes.resize(index + 1);
  bytes[index] += static_cast<double>(size.count());
}

void Summary::Posted::add(const Posted& later, const Posted& earlier, double times) {
  count += times * (later.count - earlier.count);
  bytes.resize(std::max(bytes.size(), later.bytes.size()));
  for (std::size_t i = 0; i < later.bytes.size(); ++i) {
    bytes[i] += times * (later.bytes[i] - (i < earlier.bytes.size() ? earlier.bytes[i] : 0));
  }
}

void Summary::collective_posted(int iteration, std::optional<PatternId> pattern, Bytes size) {
  // Of independent workers it is the first one's: theirs count once all have warmed up.
  if (independent_ ? warming_ > 0 : iteration >= job_.run.warmup + job_.run.iterations) return;
  totals_.posted.add(pattern, size);
  if (!independent_ && iteration < job_.run.warmup) warm_up_.add(pattern, size);
}

void Summary::priced(const CollectiveCost& cost) {
  worst_cost_ = std::max(worst_cost_, cost_uncertainty(cost.source, job_.doubts));
  if (!cost.missing.empty()) warn_once("not-in-table", cost.missing);
  constexpr double bounds = 0.9;  // of a collective's time: little else takes part in it
  if (cost.late_messages.count() > 0 && cost.late_messages > bounds * cost.uncontended.value()) {
    warn_once("late-messages",
              "collectives take as long as the network's provider needs for messages that come "
              "before their receives ('late_message' of the link; slingshot_11 has libfabric's "
              "defaults); where it is tuned (FI_CXI_RDZV_PROTO=alt_read, FI_CXI_RDZV_THRESHOLD=0), "
              "name slingshot_11_alt_read, which has none");
  }
}

void Summary::coded(Part part, double seconds, bool estimate) {
  Totals::Coding& coding = totals_.coding[part];
  coding.all += seconds;
  if (estimate) coding.estimated += seconds;
}

void Summary::warn_once(const std::string& code, const std::string& text) {
  if (told_.insert(text).second) result_.warnings.push_back({code, text});
}

bool Summary::iteration_ended(std::size_t worker, int iteration,
                              const std::vector<IterationSample>& samples) {
  if (iteration >= job_.run.warmup + job_.run.iterations) return false;
  for (std::size_t m = 0; m < samples.size(); ++m) {
    add_sample(members_[worker + m], iteration, samples[m]);
  }
  if (independent_) {
    result_.worker_iteration_s.resize(members_.size());
    const IterationSample& sample = samples.front();
    result_.worker_iteration_s[worker].push_back(sample.end - sample.start);
    if (iteration + 1 == job_.run.warmup) {
      --warming_;
      counted_from_ = std::max(counted_from_, sample.end);
    }
  }
  if (iteration < job_.run.warmup) return iteration + 1 == job_.run.warmup && warming_ == 0;
  if (!independent_) {
    add_slowest(samples);
    for (const MemberGroup& member : members_) {
      if (iteration >= member.inputs) idle_ += member.count;
    }
    return false;
  }
  of_worker_.resize(members_.size());
  add_parts(samples.front(), 1, of_worker_[worker]);
  if (++measured_ == members_.size() * static_cast<std::size_t>(job_.run.iterations)) add_rates();
  return false;
}

void Summary::count_from(Network& network, Seconds now, double moving) {
  before_ = {.time = now.count(), .moving = moving};
  network.restart_usage();
}

void Summary::count_again(const Totals& since, const Again& again) {
  const double times = again.warming + again.measured;
  const Posted now = totals_.posted;
  totals_.posted.add(now, since.posted, times);
  warm_up_.add(now, since.posted, again.warming);
  for (auto& [part, coding] : totals_.coding) {
    const auto found = since.coding.find(part);
    const Totals::Coding before = found == since.coding.end() ? Totals::Coding{} : found->second;
    coding.all += times * (coding.all - before.all);
    coding.estimated += times * (coding.estimated - before.estimated);
  }
  totals_.choices.count_again(since.choices, times);
  before_.time -= again.measured * again.lasted;
  before_.moving -= again.measured * again.moving;
}

void Summary::add_sample(const MemberGroup& member, int iteration, const IterationSample& sample) {
  const double duration = sample.end - sample.start;
  double explained = 0;
  for (const double part : sample.parts) explained += part;
  if (std::abs(duration - explained) > other_max * duration) {
    throw std::logic_error(
        fmt::format("iteration {}: {} s of {} s are explained", iteration, explained, duration));
  }
  if (duration < compute_of(sample) * (1 - 1e-9)) {
    throw std::logic_error(fmt::format("iteration {} beats its own compute", iteration));
  }
  if (iteration < job_.run.warmup) return;
  samples_.add(duration, member.count);
}

void Summary::add_slowest(const std::vector<IterationSample>& samples) {
  std::size_t last = 0;  // the lowest rank of several that end at once
  for (std::size_t m = 1; m < samples.size(); ++m) {
    const auto key = [&](std::size_t i) { return std::pair(samples[i].end, -members_[i].rank); };
    if (key(m) > key(last)) last = m;
  }
  const IterationSample& slowest = samples[last];
  result_.iteration_s.push_back(slowest.end - slowest.start);
  add_parts(slowest, 1, result_.breakdown);
  if (!result_.breakdown_median) result_.breakdown_median.emplace();
  add_parts(median_of(samples), 1, *result_.breakdown_median);
}

const IterationSample& Summary::median_of(const std::vector<IterationSample>& samples) const {
  struct Place {
    double compute = 0;
    int rank = 0;
    int count = 0;
    std::size_t member = 0;

    bool operator<(const Place& other) const {
      return std::tie(compute, rank) < std::tie(other.compute, other.rank);
    }
  };
  std::vector<Place> places(samples.size());
  for (std::size_t m = 0; m < samples.size(); ++m) {
    places[m] = {compute_of(samples[m]), members_[m].rank, members_[m].count, m};
  }
  int before = (result_.world_size - 1) / 2;  // so many ranks are faster than it
  auto first = places.begin();
  for (auto last = places.end(); last - first > 1;) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last);
    int ranks = 0;
    for (auto place = first; place != middle; ++place) ranks += place->count;
    if (before < ranks) {
      last = middle;
    } else {
      before -= ranks;
      first = middle;
    }
  }
  return samples[first->member];
}

void Summary::add_parts(const IterationSample& sample, double weight, Breakdown& to) const {
  double explained = 0;
  for (std::size_t p = 0; p < sample.parts.size(); ++p) {
    to[p] += weight * sample.parts[p] / job_.run.iterations;
    explained += sample.parts[p];
  }
  to[static_cast<std::size_t>(Part::other)] +=
      weight * (sample.end - sample.start - explained) / job_.run.iterations;
}

Summary::Posted Summary::measured() const {
  Posted measured;
  measured.add(totals_.posted, warm_up_, 1);
  return measured;
}

double Summary::bytes_sent(const Plans& plans) const {
  const std::vector<double> moved = measured().bytes;
  std::vector<double> sent(job_.placement.size(), 0);  // by rank
  double all = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] == 0) continue;
    for (const auto& [rank, share] : plans.shares(static_cast<PatternId>(i))) {
      sent[static_cast<std::size_t>(rank)] += share * moved[i];
      all += share * moved[i];
    }
  }
  if (independent_) return all;
  return std::ranges::max(sent);
}

RunResult Summary::result(const Plans& plans, const Network& network, Seconds end, double moving,
                          std::vector<Span> spans) const {
  RunResult result = result_;
  samples_.copy_to(result.samples, result.sample_weight);
  result.spans = std::move(spans);
  result.communication_busy_s =
      (moving - before_.moving) / (end.count() - before_.time) * mean_iteration();
  const double iterations = independent_ ? iterations_until(end.count()) : job_.run.iterations;
  result.collectives = static_cast<int>(std::lround(measured().count / iterations));
  result.bytes_per_rank = std::llround(bytes_sent(plans) / iterations);
  if (result.communication_busy_s > 0) {
    result.overlap_fraction = std::clamp(
        1 - at(result.breakdown, Part::exposed_communication) / result.communication_busy_s, 0.0,
        1.0);
  }
  std::ranges::move(totals_.choices.warnings(choice_share_min),
                    std::back_inserter(result.warnings));
  drop_roundings(result.breakdown, mean_iteration());
  if (result.breakdown_median) drop_roundings(*result.breakdown_median, mean_iteration());
  result.idle_ranks = idle_ / job_.run.iterations;
  add_spread(result);
  add_links(result, network, end);
  const auto& stats = network.stats();
  result.fidelity = independent_ ? "worker" : stats.fidelity;
  result.fidelity_why = !independent_ ? stats.why
                        : stats.flows == 0
                            ? "every rank is by itself, and sends no message"
                            : "every rank is asynchronous, its messages " + stats.fidelity;
  result.engine_solver = stats.flows == 0 ? "none" : stats.solver;
  if (result.engine_solver == "simgrid") result.engine_simgrid = simgrid_version();
  result.engine_links = stats.links;
  result.engine_flows = stats.flows;
  result.engine_link_classes = stats.link_classes;
  result.engine_flow_classes = stats.flow_classes;
  return result;
}

void Summary::add_spread(RunResult& result) const {
  const PooledSamples pooled(result.samples, result.sample_weight);
  result.profile_error = worst_profile_.high;
  result.cost_error = worst_cost_;
  result.coding_estimate_s = estimated_coding(result);
  result.doubts = doubts_of(result, {.profile = worst_profile_,
                                     .p5 = pooled.percentile(5),
                                     .p50 = pooled.percentile(50),
                                     .p95 = pooled.percentile(95),
                                     .machines = job_.cluster.node_count(),
                                     .over_tcp = talks_over_tcp(job_),
                                     .ports_assumed = of_assumed_ports(job_) != nullptr,
                                     .widths = job_.doubts});
  // A time is above nothing, and not below that of its inputs.
  const double least = std::max(0.01, input_time(job_).count() / pooled.percentile(50));
  result.spread_low =
      std::clamp(together(result.doubts, &Doubt::low), 0.0, 1 - std::min(1.0, least));
  result.spread_high = together(result.doubts, &Doubt::high);
  warn_of_assumed(job_, result);
}

double Summary::estimated_coding(const RunResult& result) const {
  double seconds = 0;
  for (const auto& [part, coding] : totals_.coding) {
    if (coding.estimated > 0) seconds += at(result.breakdown, part) * coding.estimated / coding.all;
  }
  return seconds;
}

double Summary::mean_iteration() const {
  return std::accumulate(result_.breakdown.begin(), result_.breakdown.end(), 0.0);
}

}  // namespace gradwire
