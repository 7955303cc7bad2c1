#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "strategies/compression/compressor.hpp"
#include "strategies/parts/lane.hpp"
#include "strategies/parts/poster.hpp"
#include "strategies/strategy.hpp"

namespace gradwire {

/// Any strategy, with a compressor between it and the network.
///
/// Each all-reduce of gradients that the inner strategy posts becomes encoding, the compressor's
/// transfers, and decoding; to the inner strategy that is still one operation. Where the inner
/// strategy only posts work on the compute stream and the compressor needs one round on the GPU,
/// the encoding stands on the compute stream before the transfers, as hooks of frameworks launch
/// it, and the decoding behind the first gate that waits for them. Otherwise a chain runs it: the
/// encoding behind the gradients, then rounds of transfers on one communication stream (a chain
/// holds the stream until its last round is posted), the work between and the decoding beside the
/// compute stream (on the GPU) or on host threads.
///
/// Messages of gradients between machines are encoded and decoded on both ends, on a CPU once for
/// each that comes to the same place: a server takes every worker's apart. Workers have a pool of
/// host threads for that, every server one of its own; the first thread that is free takes what has
/// waited longest. Where the inner strategy names a server's thread (Messages::server), that one
/// codes there, in order with the strategy's own work. Messages with a priority wait for those of
/// their exchange that are under way, not for coding. Those within a machine, and collectives of
/// one machine, travel as they are, but for linear compressors, which shrink every collective of
/// gradients.
class Compressed final : public Strategy {
 public:
  /// @param threads  host threads of a worker that encode and decode, at least 1.
  /// @param least    messages of tensors with fewer bytes in all travel as they are.
  /// REQUIRES: compressible(*inner, *compressor).
  Compressed(std::unique_ptr<Strategy> inner, std::unique_ptr<Compressor> compressor, JobView job,
             int threads, Bytes least = Bytes{0});

  Operations on_event(Seconds now, const Event& event) override;
  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  /// A group's size is that of all its transfers.
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override {
    return inner_->phasing().with(compressor_->phasing());
  }
  [[nodiscard]] Holding holding() const override { return inner_->holding(); }
  [[nodiscard]] std::vector<GroupFamily> families() const override { return inner_->families(); }
  [[nodiscard]] std::vector<Warning> warnings() const override { return inner_->warnings(); }
  [[nodiscard]] std::optional<double> staleness() const override { return inner_->staleness(); }

 private:
  /// An operation of the inner strategy, seen from outside.
  struct Link {
    OperationId operation = -1;  ///< the one outer operation; or
    std::int64_t batch = -1;     ///< transfers with decoding behind the gate
  };
  /// Transfers on the compute stream's schedule.
  struct Batch {
    OperationId inner = 0;
    std::vector<OperationId> transfers{};
    std::vector<CodecWork> decode{};
    int missing = 0;
  };
  using Step = std::variant<CodecWork, std::vector<Operation>>;
  /// The pools at the ends of an exchange.
  struct Ends {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  /// Encoding, transfers and decoding, one step after the other.
  struct Chain {
    OperationId inner = 0;
    OperationId flag = 0;
    std::vector<Step> steps{};
    std::size_t next = 0;
    std::size_t last_transfers = 0;  ///< index of the step; steps.size() when there is none
    int missing = 0;                 ///< operations of the running step
    int stream = 0;                  ///< whose turn it needs; 0: none
    bool waits_for_turn = false;
    Ends pools{};                                 ///< that encode and decode
    int thread = -1;                              ///< the pool's that runs the present step
    std::optional<Messages::ServerEnd> server{};  ///< the inner strategy's thread at one end

    /// Whose thread the step that was begun last takes.
    [[nodiscard]] std::size_t pool() const { return sends() ? pools.from : pools.to; }
    /// The step that was begun last is one of the sender's.
    [[nodiscard]] bool sends() const { return next <= last_transfers; }
  };
  /// Host threads of a worker or a server that encode and decode.
  struct Pool {
    std::set<int> free{};
    std::deque<std::int64_t> waiting{};  ///< chains
  };

  /// The communication stream of a collective's transfers. Those of stream 0, which the inner
  /// strategy posts behind the compute stream, start when they are due instead, on a stream that no
  /// strategy numbers: chains of two streams must not wait for each other.
  static int chain_stream(const Collective& collective) {
    constexpr int in_place_of_first = 1 << 20;
    return collective.stream == 0 ? in_place_of_first : collective.stream;
  }

  /// The kernels of work on the GPU.
  static DeviceWork kernels(const CodecWork& work, DeviceStream stream, bool notify);

  void ask(const Event& event);
  void rewrite(DeviceWork work);
  void rewrite(Collective collective);
  void rewrite(Messages messages);
  void rewrite(HostWork work);
  void rewrite(const Gate& gate);
  void rewrite(Flag flag);
  void rewrite(const Raise& raise);
  void rewrite(OptimizerStep step);

  void pass(Operation operation, bool tells);
  /// What follows an operation of a chain.
  [[nodiscard]] Poster::Then goes_on(std::int64_t chain) {
    return [this, chain] { step_ended(chain); };
  }

  [[nodiscard]] bool takes(const Collective& collective) const;
  [[nodiscard]] bool takes(const Messages& messages) const;
  [[nodiscard]] bool large_enough(const std::vector<TensorId>& tensors) const;
  [[nodiscard]] TensorGroup group_of(const Collective& collective) const;
  [[nodiscard]] Operation transfer(const Collective& original, const Transfer& transfer) const;

  void post_batch(const Collective& collective, const Recipe& recipe);
  void start_chain(const Collective& collective, const Recipe& recipe);
  void start_chain(const Messages& messages, const Payload& payload);
  std::int64_t add_chain(int stream);
  static void add_steps(Chain& chain, const std::vector<CodecWork>& work);
  void advance(std::int64_t id);
  void step_ended(std::int64_t id);
  void post_step(std::int64_t id, Step& step);
  void end_turn(int stream);
  void run_on_host(std::int64_t id, const CodecWork& work);
  void run_waiting(std::size_t pool);

  std::unique_ptr<Strategy> inner_;
  std::unique_ptr<Compressor> compressor_;
  JobView job_;
  int threads_;
  bool chains_;
  bool independent_;
  int first_own_exchange_;
  Bytes least_;
  std::vector<bool> crosses_;  ///< exchanges of the inner strategy that leave a machine
  std::vector<int> fan_in_;    ///< by exchange: most messages of a phase that come to one place
  std::vector<Ends> ends_;     ///< by exchange
  std::vector<Pool> pools_;    ///< the workers', then each server's
  int own_threads_ = 0;        ///< the inner strategy's are numbered behind these
  int iteration_ = 0;
  Seconds now_;

  Poster poster_;
  std::vector<Link> links_;  ///< by inner operation
  std::unordered_map<std::int64_t, Batch> batches_;
  std::unordered_map<std::int64_t, Chain> chains_running_;
  std::int64_t batch_count_ = 0;
  std::int64_t chain_count_ = 0;
  std::map<int, std::deque<std::int64_t>> turns_;  ///< by communication stream
  std::map<int, Lane> connections_;                ///< by exchange: messages with a priority
};

/// Why `compressor` cannot go under `inner`; empty when it can.
[[nodiscard]] std::string not_compressible(const Strategy& inner, const Compressor& compressor,
                                           const JobView& job);

}  // namespace gradwire
