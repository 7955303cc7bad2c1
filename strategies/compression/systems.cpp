#include "strategies/compression/systems.hpp"

#include <limits>
#include <numeric>

#include "strategies/all_reduce/ddp.hpp"
#include "strategies/all_reduce/fixed_groups.hpp"
#include "strategies/all_reduce/none.hpp"
#include "strategies/compression/acp_sgd.hpp"
#include "strategies/compression/compressed.hpp"
#include "strategies/compression/global_top_k.hpp"
#include "strategies/compression/power_sgd.hpp"
#include "strategies/compression/sign.hpp"
#include "strategies/compression/sparsifier.hpp"
#include "strategies/parts/conditional_knobs.hpp"

namespace gradwire {

TensorGroups acp_groups(const JobView& job, std::int64_t rank, Bytes threshold, bool reduces_p) {
  const auto side = [&](const LowRankGroup& group) {
    return reduces_p ? group.p_elements() : group.q_elements();
  };
  std::vector<TensorId> ids(job.tensors.size());
  std::iota(ids.rbegin(), ids.rend(), 0);
  const LowRankGroup all = acp_group(job.tensors, ids, rank);
  const double scale = static_cast<double>(side(all) + all.raw) /
                       static_cast<double>(all.matrix_elements() + all.raw);
  const double limit = static_cast<double>(threshold.count()) * scale;
  TensorGroups groups;
  double size = 0;
  for (const TensorId id : ids) {
    const LowRankGroup one = acp_group(job.tensors, {id}, rank);
    const auto bytes = static_cast<double>((side(one) + one.raw) * gradient_element_size);
    if (groups.empty() || size + bytes > limit) {
      groups.emplace_back();
      size = 0;
    }
    groups.back().push_back(id);
    size += bytes;
  }
  return groups;
}

StrategyMaker read_acp_sgd(Knobs& knobs) {
  const std::int64_t rank = AcpSgd::read_rank(knobs);
  constexpr Bytes threshold_default{25LL * 1024 * 1024};
  const Bytes threshold =
      knobs.size("threshold", threshold_default,
                 "acpsgd.py:98: 25 MB of gradients; 0 B: one all-reduce a tensor", Bytes{0});
  return [rank, threshold](const JobView& job) -> std::unique_ptr<Strategy> {
    auto even = acp_groups(job, rank, threshold, true);
    auto odd = acp_groups(job, rank, threshold, false);
    auto inner = std::make_unique<Grouped>(
        [even, odd](int iteration) { return reduces_p(iteration) ? even : odd; },
        GroupedOptions{.copies = false}, job);
    return std::make_unique<Compressed>(std::move(inner), std::make_unique<AcpSgd>(rank, job), job,
                                        1);
  };
}

StrategyMaker read_gtopk(Knobs& knobs) {
  // gtopkssgd, allreducer.py:26, in elements: more than any model has, so one buffer.
  constexpr std::int64_t threshold = 640LL * 1024 * 1024;
  const double density = read_density(knobs, 0.001, "gtopkssgd, gtopk_trainer.py: density 0.001");
  const Seconds host_time = read_host_time(knobs);
  const Release pytorch = read_pytorch(knobs);
  return [density, host_time, pytorch](const JobView& job) -> std::unique_ptr<Strategy> {
    auto groups = groups_by_elements(job, threshold);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; },
                                  GroupedOptions{.after_backward = true}, job),
        std::make_unique<GlobalTopK>(density, job, CodecDevice::gpu, host_time, pytorch), job, 1);
  };
}

namespace {

/// epfml/powersgd, powersgd.py, Config: min_compression_rate 10, start_compressing_after_num_steps.
constexpr double epfml_compression_rate = 10;
/// epfml/powersgd, orthogonalization.py: a norm at rank 1, else torch.linalg.qr.
constexpr std::int64_t epfml_qr_from = 2;
/// The hook takes torch.linalg.qr from PyTorch 1.12 on (pull request 72043).
constexpr Release hook_qr_from{1, 12};

}  // namespace

StrategyMaker read_powersgd(Knobs& knobs) {
  static const std::vector<std::string> known = {"ddp_hook", "epfml"};
  const std::string implementation =
      knobs.choice("implementation", "ddp_hook", known,
                   "ddp_hook: powerSGD_hook.py under DDP; epfml: epfml/powersgd, after backward");
  PowerSgdOptions options = PowerSgd::read_options(knobs);
  ConditionalKnobs hooks(knobs);
  DdpOptions ddp = read_ddp_options(hooks);
  ddp.comm_hook = true;
  if (implementation == "ddp_hook") {
    if (ddp.version < hook_qr_from) options.qr_from = std::numeric_limits<std::int64_t>::max();
    return [options, ddp](const JobView& job) -> std::unique_ptr<Strategy> {
      return std::make_unique<Compressed>(std::make_unique<Ddp>(ddp, job),
                                          std::make_unique<PowerSgd>(options, job), job, 1);
    };
  }
  hooks.refuse_without("implementation: ddp_hook");
  options.hook = false;
  options.qr_from = epfml_qr_from;
  if (!knobs.given("min_compression_rate")) options.min_compression_rate = epfml_compression_rate;
  return [options](const JobView& job) -> std::unique_ptr<Strategy> {
    auto all = groups_by_elements(job, std::numeric_limits<std::int64_t>::max());
    auto inner = std::make_unique<Grouped>(
        [all](int) { return all; }, GroupedOptions{.copies = false, .after_backward = true}, job);
    return std::make_unique<Compressed>(std::move(inner), std::make_unique<PowerSgd>(options, job),
                                        job, 1);
  };
}

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

StrategyMaker read_topk(Knobs& knobs) {
  SparsifierOptions options;
  options.density = read_density(knobs, 0.001, "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh");
  options.error_feedback =
      knobs.yes("error_feedback", false, "ddl-benchmarks: compressor eftopk instead of topk");
  options.host_time = read_host_time(knobs);
  options.pytorch = read_pytorch(knobs);
  const std::int64_t threshold = knobs.count(
      "threshold", ddl_benchmarks_threshold, 0, std::numeric_limits<std::int64_t>::max(),
      "ddl-benchmarks, mgwfbp/horovod_mpi_cj.sh: elements of a merged group");
  return [options, threshold](const JobView& job) -> std::unique_ptr<Strategy> {
    if (job.world_size == 1) return std::make_unique<NoCommunication>();
    auto groups = groups_by_elements(job, threshold);
    return std::make_unique<Compressed>(
        std::make_unique<Grouped>([groups](int) { return groups; }, GroupedOptions{}, job),
        std::make_unique<Sparsifier>(options, job, CodecDevice::gpu), job, 1);
  };
}

}  // namespace gradwire
