#include "strategies/all_reduce/ddp_options.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace gradwire {
namespace {

/// The oldest release whose bucketing is known here.
constexpr Release oldest_release{1, 4};
/// gradient_as_bucket_view: new in PyTorch 1.7 (release notes, distributed).
constexpr Release views_from{1, 7};
/// Buckets are made again in the order in which gradients arrived: rebuild_buckets, new in 1.7.
constexpr Release rebuilds_from{1, 7};
/// A shared parameter stands once in the reducer's list: _build_params_for_reducer, pull requests
/// 51929 and 53279 (merged until 12 March 2021, 1.8.0 is of 4 March): 1.9 is assumed.
constexpr Release lists_once_from{1, 9};
/// DDP_SET_LAST_BUCKET_CAP: Reducer::rebuild_buckets, new beside the tunable first bucket (pull
/// requests 62748 and 62770, August 2021); that 1.10 is the first release with it is assumed.
constexpr Release last_cap_from{1, 10};
/// _set_static_graph(), an argument of the constructor from 1.11 on (release notes of 1.9).
constexpr Release static_graph_from{1, 9};
/// One bucket without limit until buckets are rebuilt: _ddp_init_helper, pull request 72843 (under
/// review until after 15 February 2022, when 1.11's branch stood; 1.11 is of 10 March).
constexpr Release one_bucket_from{1, 12};
/// A bucket_cap_mb that is set is the first bucket's as well (pull request 121640, May 2024); that
/// 2.4 is the first release with it is assumed.
constexpr Release one_cap_from{2, 4};
/// torch.distributed.optim._apply_optimizer_in_backward under DDP: optimizer_overlap_hooks.py,
/// _OptimInBackwardHookState, of 2.0.
constexpr Release in_backward_from{2, 0};
/// torch.distributed.optim.ZeroRedundancyOptimizer: new in 1.8 (release notes, distributed).
constexpr Release zero_redundancy_from{1, 8};
/// ZeroRedundancyOptimizer(overlap_with_ddp): pull requests 62157 and 63162 (shard_buckets), July
/// and August 2021; that 1.10 is the first release with them is assumed.
constexpr Release overlap_from{1, 10};
/// DistributedDataParallel.join(): new in 1.7 (release notes, distributed).
constexpr Release join_from{1, 7};

void need(const Knobs& knobs, const DdpOptions& options, const char* knob, Release from,
          const char* otherwise) {
  if (options.version >= from) return;
  knobs.refuse(knob, fmt::format("'{}' came with PyTorch {}.{}; expected {} or a later version",
                                 knob, from.major_number, from.minor_number, otherwise));
}

bool yes_from(Knobs& knobs, const DdpOptions& options, const char* knob, Release from,
              const std::string& source) {
  const bool yes = knobs.yes(knob, false, source);
  if (yes) need(knobs, options, knob, from, "false");
  return yes;
}

void read_caps(Knobs& knobs, DdpOptions& options, const std::string& origin) {
  knobs.read("bucket_cap", options.bucket_cap, origin + "(bucket_cap_mb=25)");
  knobs.read("first_bucket_cap", options.first_bucket_cap,
             "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES; from 2.4 "
             "on a bucket_cap that is set takes its place");
  if (options.version < one_cap_from || !knobs.given("bucket_cap")) return;
  if (knobs.given("first_bucket_cap")) {
    knobs.refuse("first_bucket_cap",
                 "'first_bucket_cap' is not looked at beside 'bucket_cap' from PyTorch 2.4 on; "
                 "expected one of the two");
  }
  options.first_bucket_cap = options.bucket_cap;
}

/// The knobs of ZeroRedundancyOptimizer beside DDP's hooks.
void read_zero_overlap(Knobs& knobs, DdpOptions& options) {
  static const std::vector<std::string> hooks = {"none", "hook_with_zero_step",
                                                 "hook_with_zero_step_interleaved"};
  static const std::string overlap = "overlap_with_ddp";
  const std::string hook =
      knobs.choice(overlap, "none", hooks,
                   "ZeroRedundancyOptimizer(overlap_with_ddp=True) and the communication hook, "
                   "ddp_zero_hook.py, from 1.10 on; with NCCL");
  options.shard_buckets = knobs.yes("shard_buckets", false,
                                    "ddp_zero_hook.py: a bucket's parameters are split over ranks, "
                                    "not of one");
  if (hook == "none") {
    if (options.shard_buckets) {
      knobs.refuse("shard_buckets",
                   "'shard_buckets' is of 'overlap_with_ddp'; expected a hook there");
    }
    return;
  }
  options.overlap_with_ddp =
      hook == "hook_with_zero_step" ? ZeroHook::last_bucket : ZeroHook::interleaved;
  if (options.optimizer != DdpOptimizer::zero_redundancy) {
    knobs.refuse(overlap,
                 "'overlap_with_ddp' is of 'optimizer: ZeroRedundancyOptimizer'; expected them "
                 "together");
  }
  need(knobs, options, "overlap_with_ddp", overlap_from, "none");
  if (!options.rebuilt_from()) {
    knobs.refuse(overlap,
                 "'overlap_with_ddp' updates nothing before DDP has rebuilt its buckets, which "
                 "'find_unused_parameters' keeps it from; expected 'static_graph: true' beside it, "
                 "or neither");
  }
  if (knobs.given("compression")) {
    knobs.refuse(overlap,
                 "'overlap_with_ddp' around another communication hook is not modelled; expected "
                 "it without 'compression'");
  }
  if (options.parameters_as_bucket_view) {
    knobs.without_effect("parameters_as_bucket_view",
                         "with 'overlap_with_ddp' parameters lie as DDP's buckets; expected one of "
                         "the two");
  }
}

}  // namespace

std::optional<int> DdpOptions::rebuilt_from() const {
  if (version < rebuilds_from || (find_unused_parameters && !static_graph)) return std::nullopt;
  // The order in which gradients arrive is written down in a backward pass with hooks that reduce;
  // in a static graph's first one they only count.
  return static_graph ? 2 : 1;
}

bool DdpOptions::lists_shared_twice() const {
  return version < lists_once_from;
}

bool DdpOptions::starts_with_one_bucket() const {
  return version >= one_bucket_from && (static_graph || !find_unused_parameters);
}

DdpOptions read_ddp_options(Knobs& knobs) {
  static const std::string origin = "torch.nn.parallel.DistributedDataParallel";
  DdpOptions options;
  options.version = read_release(knobs, "version", "2.3", "PyTorch", oldest_release,
                                 "PyTorch release whose bucketing is followed, from 1.4 on");
  read_caps(knobs, options, origin);
  options.set_last_bucket_cap =
      yes_from(knobs, options, "set_last_bucket_cap", last_cap_from,
               "DDP_SET_LAST_BUCKET_CAP=1, reducer.cpp, from 1.10 on: the small bucket comes last");
  options.gradient_as_bucket_view =
      yes_from(knobs, options, "gradient_as_bucket_view", views_from, origin + ", from 1.7 on");
  knobs.read("find_unused_parameters", options.find_unused_parameters, origin);
  options.static_graph = yes_from(knobs, options, "static_graph", static_graph_from,
                                  origin + "; _set_static_graph() in 1.9 and 1.10");
  knobs.read("broadcast_buffers", options.broadcast_buffers, origin);
  return options;
}

void read_ddp_surroundings(Knobs& knobs, DdpOptions& options) {
  static const std::vector<std::string> optimizers = {"step", "in_backward",
                                                      "ZeroRedundancyOptimizer"};
  options.join = yes_from(knobs, options, "join", join_from,
                          "DistributedDataParallel.join(): ranks may run out of inputs");
  options.divide_by_initial_world_size =
      knobs.yes("divide_by_initial_world_size", true,
                "join(): gradients are divided by the world size; false: by the ranks that still "
                "have inputs, whose number the first gradient waits for");
  if (!options.divide_by_initial_world_size && !options.join) {
    knobs.refuse("divide_by_initial_world_size",
                 "'divide_by_initial_world_size' is of 'join'; expected 'join: true' beside it");
  }
  const std::string optimizer =
      knobs.choice("optimizer", "step", optimizers,
                   "who updates: optimizer.step(), _apply_optimizer_in_backward (from 2.0 on), "
                   "torch.distributed.optim.ZeroRedundancyOptimizer (from 1.8 on)");
  options.parameters_as_bucket_view = knobs.yes("parameters_as_bucket_view", false,
                                                "ZeroRedundancyOptimizer: a broadcast a rank, not "
                                                "a parameter");
  if (optimizer == "in_backward") {
    need(knobs, options, "optimizer", in_backward_from, "step");
    if (knobs.given("compression")) {
      knobs.refuse("optimizer",
                   "'optimizer: in_backward' is a communication hook itself; expected it without "
                   "'compression'");
    }
    options.optimizer = DdpOptimizer::in_backward;
  } else if (optimizer == "ZeroRedundancyOptimizer") {
    need(knobs, options, "optimizer", zero_redundancy_from, "step");
    options.optimizer = DdpOptimizer::zero_redundancy;
  }
  if (options.parameters_as_bucket_view && options.optimizer != DdpOptimizer::zero_redundancy) {
    knobs.refuse("parameters_as_bucket_view",
                 "'parameters_as_bucket_view' is of 'optimizer: ZeroRedundancyOptimizer'; expected "
                 "them together");
  }
  read_zero_overlap(knobs, options);
}

}  // namespace gradwire
