#pragma once

#include <cstdint>
#include <vector>

#include "strategies/knobs.hpp"
#include "strategies/parts/outstanding.hpp"
#include "strategies/parts/step_strategy.hpp"

namespace gradwire {

/// Whom a machine (or a GPU) averages its model with.
enum class PeerSelection : std::uint8_t {
  all,        ///< everybody
  shift_one,  ///< one of the other half, another one each time
  random,     ///< one of the other half, drawn
  ring,       ///< the one before and the one behind
};

struct DecentralizedOptions {
  bool low_precision = false;
  bool hierarchical = true;  ///< a machine's GPUs average first, and one of them talks for all
  PeerSelection peers = PeerSelection::all;
  int interval = 1;                  ///< iterations from one averaging to the next
  Bytes bucket{10LL * 1024 * 1024};  ///< BAGUA_DEFAULT_BUCKET_SIZE
  std::uint64_t seed = 1;            ///< of the draws
};

/// Decentralised SGD: models, not gradients, are averaged, with few peers.
///
/// Full precision: the exchange of the weights starts with the iteration and overlaps forward and
/// backward; behind backward the result is copied back (and broadcast in the machine), then the
/// optimizer runs. Low precision: after the optimizer step the difference to the copies that the
/// neighbours keep is quantised to 8 bits (minimum and maximum a bucket), sent to both neighbours
/// of a ring (NCCL's grouped sends), and the three differences are added; nothing overlaps but the
/// buckets among themselves.
///
/// Bagua refuses shift_one with an odd number of talkers; here the last one then sits out. `random`
/// and `ring` in full precision are not in Bagua: its paper names random probing; ring: Lian et
/// al., Can decentralized algorithms outperform centralized algorithms?, NIPS 2017.
///
/// Source: BaguaSys/bagua, torch_api/algorithms/decentralized.py and bagua-core-internal
/// comm_ops/decentralized_{full,low}_precision_synchronous.rs.
class Decentralized final : public StepStrategy {
 public:
  Decentralized(const DecentralizedOptions& options, const JobView& job);
  static StrategyMaker read(Knobs& knobs);

  [[nodiscard]] Traits traits() const override;
  [[nodiscard]] std::vector<CollectiveUse> collectives() const override;
  [[nodiscard]] std::vector<Exchange> exchanges() const override;
  [[nodiscard]] std::vector<PlanGroup> plan(int iteration) const override;
  [[nodiscard]] Phasing phasing() const override {
    return {.steady_from = 0, .period = options_.interval};
  }

 private:
  void begin(int iteration, WorkerId worker) override;
  void finish(WorkerId worker) override;
  void average_all();
  /// What becomes of a bucket, in order; nothing where nobody else talks.
  [[nodiscard]] Operations steps(const PlanGroup& bucket) const;
  void copy_back();
  [[nodiscard]] static Collective within_machine(CollectiveKind kind, const PlanGroup& bucket);
  [[nodiscard]] bool communicates() const { return iteration_ % options_.interval == 0; }
  /// Do a machine's ranks average first?
  [[nodiscard]] bool has_machines() const { return options_.hierarchical && local_ > 1; }
  [[nodiscard]] FamilyId talking() const {
    return options_.hierarchical ? families::leaders : families::all;
  }
  [[nodiscard]] Bytes wire_size(const PlanGroup& bucket) const;
  [[nodiscard]] int matching() const;

  DecentralizedOptions options_;
  int local_ = 1;             ///< ranks of a machine, the most
  std::vector<int> talkers_;  ///< ranks that exchange
  std::vector<PlanGroup> buckets_;
  int iteration_ = 0;
  std::int64_t talks_ = 0;  ///< averagings so far
  Outstanding averaged_;    ///< buckets of this iteration
};

}  // namespace gradwire
