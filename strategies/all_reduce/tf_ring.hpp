#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "strategies/parts/poster.hpp"
#include "strategies/parts/remote_calls.hpp"
#include "strategies/parts/window_queue.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// TensorFlow's RingReduce over all devices, task after task, in `subdivisions` rings at once: n
/// ranks cut a tensor into a chunk a rank and ring. In n - 1 steps chunks are passed on and added
/// up, in n - 1 more passed on and kept.
///
/// A chunk for a device of the same task is copied to it; for that of another machine it is copied
/// to host memory, fetched by a call (RecvBuf) of the next task and copied to its GPU. The three
/// follow each other; while a ring copies, another one's chunk is on its way: on the wire the rings
/// go one after the other (assumed: gRPC puts their frames into one connection as they come). The
/// steps of a pass are moved as one. Additions are kernels that take the GPU from what it computes.
///
/// Source: tensorflow/core/common_runtime/ring_alg.cc, ring_reducer.cc;
/// distributed_runtime/collective_rma_distributed.cc.
class TfRing {
 public:
  /// Chunks are made no larger than this by more rings, as far as they may be (kMaxChunkSizeBytes).
  static constexpr Bytes chunk_max{4LL * 1024 * 1024};
  /// Rings are at most so many times the devices of a task (kMaxSubdivsPerDeviceDefault).
  static constexpr int rings_per_device = 2;

  /// @param sizes   of the tensors that will be reduced. @param poster  outlives it.
  /// REQUIRES: at least two ranks.
  /// @param calls  that carry what goes to another machine.
  TfRing(const RemoteCalls& calls, JobView job, const std::vector<Bytes>& sizes, Poster& poster);

  /// Of a tensor of that size.
  [[nodiscard]] int subdivisions(Bytes size) const;
  [[nodiscard]] std::vector<Exchange> exchanges() const { return exchanges_; }
  /// Starts an all-reduce. @param then  called when every ring has ended.
  void reduce(Bytes size, const std::vector<TensorId>& tensors, Poster::Then then);
  /// Starts an all-gather in one ring (ring_gatherer.cc). @param size  of all ranks' parts.
  void gather(Bytes size, const std::vector<TensorId>& tensors, Poster::Then then);

 private:
  /// One ring's way through a tensor.
  struct Course {
    int exchange = 0;  ///< its first one
    int thread = 0;    ///< which of the threads for calls
    Bytes passed{0};   ///< by a rank in a pass
    int passes = 0;    ///< done; a gather's first one is the last of a reduction
    std::vector<TensorId> tensors;
    Poster::Then then;
  };
  /// Exchanges of a ring, from its first one on. On one machine only `hop`.
  enum Part : std::uint8_t { hop, down_to_host, up_to_gpu };

  /// Devices of a task before the next ring's first one; negative: in reverse order.
  [[nodiscard]] int offset_of(int ring, int rings) const;
  [[nodiscard]] std::vector<int> order_of(int offset) const;
  int add_exchanges(int offset);
  void move(const Course& course, Part part, const char* label, Poster::Then then);
  void pass(const Course& course);
  void travel_next();
  void arrived(Course course);

  RemoteCalls calls_;
  JobView job_;
  Poster* poster_;
  std::map<int, std::vector<int>> ranks_;  ///< by machine
  int devices_ = 1;                        ///< of a task, on average
  std::vector<Exchange> exchanges_;
  std::map<int, int> first_exchange_;  ///< by offset
  WindowQueue<Course> wire_;
};

}  // namespace gradwire
