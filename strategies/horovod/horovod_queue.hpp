#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "strategies/horovod/horovod_reductions.hpp"
#include "strategies/horovod/tensor_phases.hpp"
#include "strategies/parts/poster.hpp"

namespace gradwire {

/// Horovod's background thread and its NCCL streams, for whatever hands tensors to it.
///
/// - A cycle starts at the previous start + cycle_time, or when the thread is free, whichever is
///   later. Cycles without work are not posted but keep their place in time: a request waits for
///   the next start, and an empty cycle lasts as long as its negotiation if that is longer than
///   cycle_time.
/// - A cycle takes all requests since the last one, negotiates (Negotiation), fuses what came out
///   (cached ones first, by bit) and hands the responses to the streams in order.
/// - Up to 0.22 the thread waits, before each response, until the gradients of all its tensors are
///   there on every rank; from 0.23 on the stream waits.
/// - The thread waits for the end of hierarchical and Adasum responses and of gathers by MPI.
///
/// All ranks' hooks are taken to fire when the first rank's do: what makes a rank late is its GPU,
/// and that is waited for.
///
/// Source: Horovod operations.cc (BackgroundThreadLoop, RunLoopOnce, PerformOperation),
/// controller.cc (ComputeResponseList).
class HorovodQueue {
 public:
  /// The number of its host thread.
  static constexpr int thread = 0;

  /// @throws SimulationError as HorovodReductions.
  HorovodQueue(const HorovodOptions& options, const JobView& job);

  /// So many iterations have as many parts of a cycle before their first request.
  static constexpr int parts = 4;

  /// An iteration begins, numbered from 0: the thread's first sleep in it ends (1/2 + p) / `parts`
  /// of a cycle after the request that it was asleep for, p = 1, 3, 0, 2 in turn. Without a call
  /// cycles keep their place in time.
  void begin(int iteration);

  /// A hook at `now` hands these over.
  void submit(Seconds now, std::vector<HorovodRequest> requests, Poster& poster);

  /// To be notified of every operation that ends.
  /// @return the requests whose result has arrived, in order.
  std::vector<HorovodRequest> on_done(Seconds now, OperationId operation, Poster& poster);

  /// As TensorTimeline's. A tensor is negotiated from its cycle's start on; waits for its own
  /// gradient and those it is fused with once its response's turn has come; is queued behind the
  /// stream's other responses; and goes through the response's stages.
  void record(bool on_gpu);
  [[nodiscard]] const std::vector<TensorPhase>& phases() const { return phases_.phases(); }

  [[nodiscard]] std::vector<CollectiveUse> collectives() const { return ways_.collectives(); }
  [[nodiscard]] std::vector<Exchange> exchanges() const { return ways_.exchanges(); }

 private:
  struct Pending {
    HorovodRequest request;
    OperationId marker = -1;  ///< ended when its gradient is there; -1: it is
  };
  struct Response {
    std::vector<HorovodRequest> requests;
    std::vector<OperationId> marker_of;  ///< by request
    std::vector<Seconds> ready_at;       ///< by request: its marker ended
    std::vector<OperationId> markers;    ///< not ended yet
    std::optional<Seconds> turn;         ///< the thread got to it
    Seconds stage_start{};
    Operations stages;
    std::size_t stage = 0;
    OperationId running = -1;
    bool blocks = false;  ///< the thread waits for its end
  };
  enum class State : std::uint8_t {
    idle,         ///< empty cycles
    sleeping,     ///< until the next cycle
    negotiating,  ///< with the other ranks
    executing,    ///< waits for gradients or for a response
  };

  [[nodiscard]] Seconds next_cycle(Seconds now);
  void plan_cycle(Seconds now, Poster& poster);
  void begin_cycle(Seconds now, Poster& poster);
  [[nodiscard]] int uncached(const std::vector<Pending>& batch) const;
  [[nodiscard]] bool cached(const HorovodRequest& request) const;
  void respond(Seconds now);
  void execute(Seconds now, Poster& poster);
  /// The thread waits for the end of a response.
  [[nodiscard]] bool blocked() const;
  void feed(Seconds now, std::deque<Response>& stream, Poster& poster);
  void forget(Seconds now, OperationId marker);
  static void forget(Seconds now, OperationId marker, Response& response);
  std::vector<HorovodRequest> advance(Seconds now, OperationId operation);
  void note_waits(Seconds now, const Response& response);

  HorovodOptions options_;
  HorovodReductions ways_;
  Negotiation negotiation_;
  ResponseCache cache_;
  State state_ = State::idle;
  Seconds cycle_start_{};
  Seconds free_{};              ///< when the thread last had nothing left
  std::optional<double> part_;  ///< of a cycle that the iteration's first sleep has left
  OperationId awaited_ = -1;
  std::vector<Pending> pending_;
  std::vector<Pending> batch_;
  std::deque<Response> responses_;             ///< of this cycle, not yet handed to a stream
  std::vector<std::deque<Response>> streams_;  ///< NCCL's, then what needs none
  std::size_t next_stream_ = 0;
  std::vector<OperationId> open_markers_;
  TensorPhases phases_;
  bool on_gpu_ = true;
};

}  // namespace gradwire
