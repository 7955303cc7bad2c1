#pragma once

#include <cstdint>
#include <optional>

#include "strategies/all_reduce/zero_overlap.hpp"
#include "strategies/knobs.hpp"
#include "strategies/parts/release.hpp"

namespace gradwire {

/// Who updates the parameters of a DDP job, and when.
enum class DdpOptimizer : std::uint8_t {
  step,             ///< every rank all of them, after backward
  in_backward,      ///< every rank a bucket's, beside backward, once the bucket is reduced
  zero_redundancy,  ///< each rank its share after backward, then broadcasts it
};

/// Knobs of torch.nn.parallel.DistributedDataParallel under their own names.
struct DdpOptions {
  Release version{2, 3};                     ///< of PyTorch: bucketing depends on it
  Bytes bucket_cap{25LL * 1024 * 1024};      ///< bucket_cap_mb = 25
  Bytes first_bucket_cap{1024LL * 1024};     ///< dist._DEFAULT_FIRST_BUCKET_BYTES
  bool set_last_bucket_cap = false;          ///< the small bucket is the last one, not the first
  bool gradient_as_bucket_view = false;      ///< from 1.7 on
  bool find_unused_parameters = false;       ///< then buckets are never rebuilt
  bool static_graph = false;                 ///< which parameters are used never changes
  bool broadcast_buffers = true;             ///< rank 0's buffers, before each forward
  bool join = false;                         ///< training stands inside DDP's join()
  bool divide_by_initial_world_size = true;  ///< of join(): not by who is still there
  DdpOptimizer optimizer = DdpOptimizer::step;
  bool parameters_as_bucket_view = false;      ///< of ZeroRedundancyOptimizer
  ZeroHook overlap_with_ddp = ZeroHook::none;  ///< of it too: its step in communication hooks
  bool shard_buckets = false;                  ///< of these: a bucket may be of several ranks
  /// A communication hook compresses a bucket and divides it (Compressed is that hook); then
  /// buckets are only filled here.
  bool comm_hook = false;

  /// The iteration, from 0, whose buckets are the first ones made in the order in which gradients
  /// arrived; nothing where they never are.
  [[nodiscard]] std::optional<int> rebuilt_from() const;
  /// The first iteration, from 0, that updates parameters where ZeroRedundancyOptimizer overlaps:
  /// it writes down the buckets in the iteration that has rebuilt them
  /// (_hook_with_zero_step_setup). REQUIRES: they are rebuilt.
  [[nodiscard]] int first_update() const { return rebuilt_from().value() + 1; }
  /// A parameter that two modules share is listed with each.
  [[nodiscard]] bool lists_shared_twice() const;
  /// Until they are rebuilt there is one bucket of everything.
  [[nodiscard]] bool starts_with_one_bucket() const;
};

/// The knobs of DDP's constructor and its environment.
[[nodiscard]] DdpOptions read_ddp_options(Knobs& knobs);
/// Beside them: who updates the parameters, and join().
void read_ddp_surroundings(Knobs& knobs, DdpOptions& options);

}  // namespace gradwire
