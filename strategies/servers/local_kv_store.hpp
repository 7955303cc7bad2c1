#pragma once

#include <vector>

#include "strategies/servers/kv_store.hpp"

namespace gradwire {

/// MXNet's key-value stores of one machine. `local`: a key's gradients are copied to the host,
/// summed there, the optimizer runs there, and every GPU copies the value back. `device`: they are
/// copied to one GPU, which sums them, and copied from it; keys are dealt to GPUs by their size.
///
/// Source: apache/mxnet, src/kvstore/{kvstore_local.h,comm.h}: CommCPU; CommDevice,
/// InitMergeBuffer.
class LocalKvStore {
 public:
  /// Uses exchanges and host threads from 0. @throws UnsupportedConfiguration on several machines.
  LocalKvStore(Poster& poster, const KvStoreOptions& options, const JobView& job);
  LocalKvStore(const LocalKvStore&) = delete;
  LocalKvStore& operator=(const LocalKvStore&) = delete;

  [[nodiscard]] std::vector<Exchange> exchanges() const;
  /// The GPU that sums a key of a `device` store.
  [[nodiscard]] int merging_gpu(TensorId key) const {
    return gpu_of_key_[static_cast<std::size_t>(key)];
  }

  /// `pulled` is called when the new value is on every GPU.
  void push_pull(const LaneItem& item, TensorId key, const Poster::Then& pulled);

 private:
  [[nodiscard]] bool on_gpu() const { return options_.kv_store == "device"; }
  void sum_on_host(const LaneItem& item, const Poster::Then& pulled);
  void sum_on_gpu(const LaneItem& item, int gpu, const Poster::Then& pulled);

  Poster* poster_;
  KvStoreOptions options_;
  JobView job_;
  ServerLayout layout_;
  bool updates_;                 ///< on the host
  std::vector<int> gpu_of_key_;  ///< by tensor
  Lane to_host_;
  Lane sum_;
  Lane update_;
  Lane to_gpus_;
};

}  // namespace gradwire
