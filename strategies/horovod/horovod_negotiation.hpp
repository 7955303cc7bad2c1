#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/horovod/horovod_options.hpp"

namespace gradwire {

/// What a tensor, or a buffer of the caller, is known by in every iteration.
using RequestName = std::int64_t;

enum class RequestKind : std::uint8_t {
  reduce,  ///< all-reduce, dense
  gather,  ///< all-gather: the rows of a sparse gradient, or their indices
};

/// Something that a hook hands to Horovod.
struct HorovodRequest {
  static constexpr int no_group = -1;
  RequestName name = 0;
  RequestKind kind = RequestKind::reduce;
  Bytes size{0};  ///< of a rank's vector; of gather: of all ranks' parts together
  std::vector<TensorId> tensors;
  int group = no_group;  ///< of a grouped all-reduce; those of one are submitted together
  /// The caller knows that the data are there (ByteScheduler's patch); else Horovod waits for what
  /// was launched before the hook.
  bool ready = false;
};

/// What decides which requests travel together.
struct HorovodFusion {
  Bytes threshold{0};
  std::int64_t rounding = 1;  ///< each size counts as the next multiple of it, in bytes
  /// Those of a group fuse with each other only and come first, and a dense one without a group is
  /// one by itself (HOROVOD_DISABLE_GROUP_FUSION).
  bool groups_apart = false;
  std::size_t cached = 0;  ///< so many at the front are cached: their groups come after the others'
};

/// Groups the requests of a cycle as they will travel, each group a list of indices in order.
///
/// The head takes in what follows while the kind is the same and the sum is at most the threshold;
/// it looks beyond one that does not fit only while the head and all that was skipped would be
/// below the threshold. What was skipped comes first again. Within groups apart, tensors stand by
/// name. Source: Horovod controller.cc:74-440 (ComputeResponseList) and 901-1090 (FuseResponses);
/// operations.cc, EnqueueTensorAllreduces: only with the option a tensor alone makes a group.
[[nodiscard]] std::vector<std::vector<std::size_t>> fuse_responses(
    std::span<const HorovodRequest> requests, const HorovodFusion& fusion);

/// The responses that ranks remember by a bit, least recently used ones forgotten first.
/// Source: Horovod response_cache.cc.
class ResponseCache {
 public:
  /// REQUIRES: capacity >= 0.
  explicit ResponseCache(std::int64_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool on() const { return capacity_ > 0; }
  [[nodiscard]] bool holds(RequestName name) const;
  /// Order of the response lists; REQUIRES: holds(name).
  [[nodiscard]] std::int64_t bit(RequestName name) const;
  /// Remembers it as used last.
  void use(RequestName name);

 private:
  struct Entry {
    RequestName name = 0;
    std::int64_t bit = 0;
    std::int64_t used = 0;
  };
  std::int64_t capacity_;
  std::vector<Entry> entries_;
  std::int64_t clock_ = 0;
  std::int64_t next_bit_ = 0;
};

/// What agreeing takes the background threads of all ranks, on the CPU.
///
/// With R = ceil(log2 machines) message_latency + ceil(log2 local ranks) local_latency, the depth
/// of a tree over all ranks:
///   bit vector (all that is asked for is cached):     R    (recursive doubling of a few words)
///   lists (else): gather of lengths R, gather of lists message_latency, rank 0 parses and counts
///   world_size (1 + requests) request_time, broadcast of length and list 2 R; before them the bit
///   vector where the cache is on.
/// Source of the messages: Horovod controller.cc:74-440, mpi_controller.cc.
class Negotiation {
 public:
  Negotiation(const HorovodOptions& options, const JobView& job);

  /// @param uncached  requests of a rank that the cache does not hold; 0 with the cache off: a
  ///                  cycle without work, which sends its lists all the same.
  [[nodiscard]] Seconds time(int uncached) const;

 private:
  bool cache_on_;
  int world_size_;
  Seconds tree_;
  Seconds message_;
  Seconds request_time_;
};

/// Of a barrier of all ranks by the same tree: R.
[[nodiscard]] Seconds barrier_time(const HorovodOptions& options, const JobView& job);

/// ceil(log2 n), n >= 1.
[[nodiscard]] int rounds_of(int count);

}  // namespace gradwire
