#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/parts/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// When ZeroRedundancyOptimizer steps under its overlap_with_ddp.
enum class ZeroHook : std::uint8_t {
  none,         ///< behind backward, by step()
  last_bucket,  ///< hook_with_zero_step: on all buckets, in the last one's hook
  interleaved,  ///< hook_with_zero_step_interleaved: on each bucket, in its own hook
};

/// What one rank updates of a bucket: tensors that follow each other there.
struct ZeroPart {
  int rank = 0;
  std::vector<TensorId> tensors;
  std::int64_t elements = 0;
};

/// Who updates the parameters of each bucket; a bucket's parts by rank.
///
/// @param shard  false: bucket b whole is of rank b modulo the ranks. true: smaller buckets first,
///               a bucket is cut before the tensor with which a part would reach a rank's mean
///               share, and each part goes to the rank that has fewest elements so far and nothing
///               of this bucket.
/// @throws UnsupportedConfiguration  a bucket falls into more parts than there are ranks; the
/// original stops
///         there, too.
/// Source: torch/distributed/optim/zero_redundancy_optimizer.py, _bucket_assignments_per_rank,
/// _get_assigned_rank, _get_min_index.
[[nodiscard]] std::vector<std::vector<ZeroPart>> parts_of_buckets(
    const JobView& job, const std::vector<std::vector<TensorId>>& buckets, bool shard);

/// ZeroRedundancyOptimizer's step from DDP's communication hooks. A bucket that is reduced is
/// updated by its ranks, each part in its own time, and then broadcast part by part; the next
/// forward pass waits for all broadcasts.
///
/// From the last bucket's hook, steps begin behind backward, each once its bucket is reduced, and
/// all broadcasts stand behind all all-reduces in NCCL's stream. Interleaved, a step begins beside
/// backward and takes the GPU from it, and the next bucket's all-reduce stands behind this bucket's
/// broadcasts.
///
/// Ranks step at the same time on different buckets; a broadcast waits for the last rank that has
/// come to it. A part's time goes by its elements, assumed. Interleaved, a rank's backward is late
/// by its own steps alone; an all-reduce waits for the rank that has stepped most, so that each
/// step takes from the ranks' GPUs what it adds to the most, and the rest of its time passes beside
/// backward.
/// Source: torch/distributed/algorithms/ddp_comm_hooks/ddp_zero_hook.py.
class ZeroOverlap {
 public:
  /// REQUIRES: hook is not none. `job`, `poster` and `now`, the time of the event, outlive it.
  ZeroOverlap(ZeroHook hook, bool shard_buckets, const JobView& job, Poster& poster,
              const Seconds& now);

  /// An iteration with these buckets begins. @throws UnsupportedConfiguration as parts_of_buckets.
  void start(const std::vector<std::vector<TensorId>>& buckets);
  /// The next bucket has been filled: posts its all-reduce, or what will.
  /// @return what has to end before its gradients are used on.
  OperationId launch();
  /// Ends with the last broadcast. REQUIRES: a bucket has been launched.
  [[nodiscard]] OperationId updated() const { return updated_; }

 private:
  struct Bucket {
    std::vector<TensorId> tensors;
    Bytes size{0};
    std::vector<ZeroPart> parts;
    OperationId passed = -1;  ///< interleaved: flag, its step has ended
  };

  void go_on();
  [[nodiscard]] Collective all_reduce(std::size_t bucket) const;
  void step();
  void step_beside_backward();
  /// Seconds of a part's step.
  [[nodiscard]] double seconds_of(const ZeroPart& part) const;
  /// Takes the GPU.
  void occupy(double seconds, Poster::Then then);
  void reduced();
  void stepped();
  /// The step under way goes on for `rest_`, and takes nothing more of the GPUs.
  void wait_for_rest();
  void broadcast();

  ZeroHook hook_;
  bool shard_buckets_;
  const JobView* job_;
  Poster* poster_;
  const Seconds* now_;
  std::int64_t elements_ = 0;  ///< of all tensors
  std::vector<Bucket> buckets_;
  OperationId updated_ = -1;
  std::size_t broadcasts_left_ = 0;
  /// By rank, in seconds: when its steps have ended; interleaved, how long they took together.
  std::vector<double> steps_;
  double most_ = 0;  ///< s, the largest of these
  double rest_ = 0;  ///< s of the step under way, interleaved, beside backward
  // Buckets go through all stages in order; of each stage, how many have come so far.
  std::size_t launched_ = 0;
  std::size_t computed_ = 0;
  std::size_t reducing_ = 0;
  std::size_t reduced_ = 0;
  std::size_t stepping_ = 0;
  std::size_t stepped_ = 0;
  std::size_t broadcasting_ = 0;
};

}  // namespace gradwire
