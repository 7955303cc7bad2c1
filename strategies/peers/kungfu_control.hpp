#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/peers/kungfu_session.hpp"

namespace gradwire {

/// What KungFu's workers do between two steps where a config server may change their number, each
/// thing behind the one before it. Small messages within a machine take no time.
///
/// Source: lsds/KungFu, srcs/go/kungfu/peer/{peer,legacy,urlclient,router}.go and
/// srcs/python/kungfu/tensorflow/hooks/elastic.py.
class KungfuControl {
 public:
  /// One of them.
  struct Step {
    enum class Kind : std::uint8_t {
      step_over,   ///< everything launched so far has run on every GPU
      wait,        ///< `time`
      all_reduce,  ///< `size` bytes between host memories
      broadcast,   ///< all variables, from GPU to GPU
    };
    Kind kind = Kind::wait;
    Seconds time{};
    Bytes size{0};
  };

  /// Behind every step: the new size is put to the config server, the cluster fetched from it (a
  /// round trip each), and agreed on: its length's and its bytes' minimum and maximum, four
  /// all-reduces in turn (KungFuElasticTrainHook.after_run, ResizeClusterFromURL).
  [[nodiscard]] static std::vector<Step> check(const JobView& job);
  /// What a change costs the workers before it, behind that check: fetches that disagree, again
  /// after 50 ms each; the proposal agreed on once more; every runner pinged and notified. A ping
  /// and a message to a runner take three and two and a half round trips: TCP, header and answer,
  /// and what is sent.
  [[nodiscard]] static std::vector<Step> leave(const WorkerChange& change);
  /// What it costs those behind it: those that join start, and connect in two round trips on each
  /// way of the barrier over a byte a worker; the step's number is agreed on, and all trainable
  /// variables are broadcast, whether somebody joined or not. Left out: an optimizer's own
  /// variables and moving statistics, which are broadcast, too; a sender that finds a peer not
  /// there yet and tries again after 200 ms.
  [[nodiscard]] static std::vector<Step> join(const WorkerChange& change);

  /// @param session  idle while this runs. All outlive it.
  KungfuControl(KungfuSession& session, const JobView& job, Poster& poster)
      : session_(session), job_(job), poster_(poster) {}

  /// @param then  called behind the last step. REQUIRES: none are under way.
  void run(std::vector<Step> steps, Poster::Then then);

 private:
  /// Begins the step `at_`, or what follows the last one.
  void begin();
  void next();

  KungfuSession& session_;
  const JobView& job_;
  Poster& poster_;
  std::vector<Step> steps_;
  std::size_t at_ = 0;
  Poster::Then then_;
  std::size_t missing_ = 0;  ///< tensors of a broadcast
};

}  // namespace gradwire
