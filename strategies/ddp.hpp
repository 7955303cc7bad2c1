#pragma once

#include <compare>
#include <optional>
#include <string_view>
#include <vector>

#include "strategies/knobs.hpp"

namespace gradwire {

/// A PyTorch release; DDP's bucketing depends on it.
struct Release {
  int major_number = 1;
  int minor_number = 7;
  auto operator<=>(const Release&) const = default;
};

/// "1.4" or "1.4.0" -> {1, 4}; nothing when the text is not a release.
[[nodiscard]] std::optional<Release> parse_release(std::string_view text);

/// Knobs of torch.nn.parallel.DistributedDataParallel under their own names.
struct DdpOptions {
  Release version{1, 7};
  Bytes bucket_cap{25LL * 1024 * 1024};   ///< bucket_cap_mb = 25
  Bytes first_bucket_cap{1024LL * 1024};  ///< dist._DEFAULT_FIRST_BUCKET_BYTES
  bool set_last_bucket_cap = false;       ///< the small bucket is the last one, not the first
  bool gradient_as_bucket_view = false;   ///< from 1.7 on
  bool find_unused_parameters = false;    ///< then buckets are never rebuilt
  bool broadcast_buffers = true;          ///< rank 0's buffers, before each forward
  /// A communication hook compresses a bucket and divides it (Compressed is that hook); then
  /// buckets are only filled here.
  bool comm_hook = false;
};

/// Walks tensors and closes a bucket once it holds at least its limit; the tensor that crosses is
/// in it. The last limit holds for all further buckets.
/// Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
[[nodiscard]] std::vector<std::vector<TensorId>> assign_buckets(const JobView& job,
                                                                const std::vector<TensorId>& order,
                                                                const std::vector<Bytes>& limits);

/// PyTorch DistributedDataParallel: gradients are copied into buckets by their hooks, a bucket is
/// all-reduced when it is complete and all earlier ones have been launched (strict order), and the
/// optimizer waits for all buckets and the copies back.
///
/// Source: torch/csrc/distributed/c10d/reducer.cpp (mark_variable_ready_dense, mark_bucket_ready,
/// finalize_backward, rebuild_buckets) and torch/nn/parallel/distributed.py of the releases named.
class Ddp final : public Strategy {
 public:
  Ddp(const DdpOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);
  /// The knobs of `read`, but for the communication hook.
  static DdpOptions read_options(Knobs& knobs);

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;

 private:
  struct Bucket {
    std::vector<TensorId> tensors;
    Bytes size{0};    ///< of the gradients, fp32
    int missing = 0;  ///< gradients not yet there in this iteration
    OperationId reduced = -1;
  };

  [[nodiscard]] std::vector<Bucket> buckets_of(int iteration) const;
  void start_iteration(int iteration, Operations& operations);
  void gradient_hook(TensorId tensor, Operations& operations);
  void launch(Bucket& bucket, Operations& operations);
  void finish(Operations& operations);
  [[nodiscard]] bool broadcasts() const;
  /// Bytes of the buffers of each type. Batch norms', unless their bytes say otherwise; then of one
  /// type: assumed.
  [[nodiscard]] std::vector<Bytes> buffer_types() const;
  [[nodiscard]] OperationId next_id(const Operations& operations) const;

  DdpOptions options_;
  JobView job_;
  std::vector<Bucket> buckets_;
  std::vector<int> bucket_of_;  ///< by tensor
  std::size_t next_bucket_ = 0;
  OperationId posted_ = 0;
};

}  // namespace gradwire
