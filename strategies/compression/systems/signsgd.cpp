#include "strategies/compression/systems/signsgd.hpp"

#include <limits>

#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {
namespace {

/// torch._utils._take_tensors: a bucket is closed before it would exceed its size.
TensorGroups buckets_within(const JobView& job, Bytes bucket_size) {
  TensorGroups groups;
  Bytes size{0};
  for (std::size_t id = 0; id < job.tensors.size(); ++id) {
    const Bytes tensor = job.size_of(job.tensors[id]);
    if (groups.empty() || (size + tensor > bucket_size && size > Bytes{0})) {
      groups.emplace_back();
      size = Bytes{0};
    }
    groups.back().push_back(static_cast<TensorId>(id));
    size += tensor;
  }
  return groups;
}

}  // namespace

StrategyMaker read_signsgd(Knobs& knobs) {
  constexpr Bytes bucket_default{100LL * 1024 * 1024};
  static const std::vector<std::string> votes = {"all_gather", "rank0"};
  SignOptions options;
  const std::string vote =
      knobs.choice("vote", "all_gather", votes,
                   "all_gather: ddl-benchmarks' signum; rank0: signSGD with majority vote");
  options.vote = vote == "rank0" ? Vote::rank0 : Vote::all_gather;
  ConditionalKnobs gathered(knobs);
  options.error_feedback = gathered.yes("error_feedback", false,
                                        "ddl-benchmarks: compressor efsignum instead of signum");
  const std::int64_t threshold = gathered.count(
      "threshold", ddl_benchmarks_threshold, 0, std::numeric_limits<std::int64_t>::max(),
      "all_gather: ddl-benchmarks, elements of a merged group");
  ConditionalKnobs voted(knobs);
  const Bytes bucket_size =
      voted.size("bucket_size", bucket_default, "rank0: Signum_SGD.py:43-44, 100 MiB", Bytes{1});
  if (options.vote == Vote::rank0) {
    gathered.refuse_without("vote: all_gather");
  } else {
    voted.refuse_without("vote: rank0");
  }
  return [=](const JobView& job) -> std::unique_ptr<Strategy> {
    const bool rank0 = options.vote == Vote::rank0;
    if (job.world_size == 1 && !rank0) return std::make_unique<NoCommunication>();
    auto groups = rank0 ? buckets_within(job, bucket_size) : groups_by_elements(job, threshold);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; },
                                  GroupedOptions{.after_backward = rank0}, job),
        std::make_unique<SignCompressor>(options, job, CodecDevice::gpu), job, 1);
  };
}

}  // namespace gradwire
