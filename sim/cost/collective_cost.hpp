#pragma once

#include <optional>
#include <string>

#include "sim/collectives/pattern.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// What a collective's kernel takes of each GPU it runs on; none where the host moves the data or a
/// library says nothing of it.
struct KernelUse {
  int blocks = 0;    ///< each on a multiprocessor of its own, while it waits for late ranks, too
  Bytes traffic{0};  ///< read and written in the GPU's memory, while the data move
};

/// A way that the library could go, by which a collective would take less, by the same prices.
struct FasterWay {
  std::string algorithm;
  std::string protocol;
  Seconds time;         ///< of the whole collective, as CollectiveCost::uncontended
  std::string setting;  ///< what makes the library go it: "NCCL_ALGO=Tree"
};

/// What a collective costs beside its bytes on the links; the engine adds contention.
struct CollectiveCost {
  Seconds startup;  ///< once, before the first byte moves (launch, protocol base latency)
  /// Added to the links' latency in each step, by the hop's slowest kind. Negative where a library
  /// hides latency behind bytes; a step never waits less than nothing.
  Seconds hop_nvlink;
  Seconds hop_pcie;
  Seconds hop_network;
  /// A ring's step waits between the segments of its message, not before the first byte: it moves
  /// the slower for all of the step, as of Gloo.
  bool waits_within = false;
  double efficiency = 1;  ///< payload / bytes on the wire (LL moves a flag with each word: 0.5)
  /// Time of the whole collective, uncontended. When present, the flows are paced so that
  /// uncontended they take exactly this (startup and hops are then 0), and contention acts on top.
  std::optional<Seconds> uncontended;
  /// The time by which the library chose this way, where it has a model of its own: NCCL prints it
  /// (NCCL_DEBUG_SUBSYS=TUNING). It moves nothing.
  std::optional<Seconds> planned{};
  /// What a port's provider is busy for with messages that come before their receives are posted
  /// (PortSpec::late_message): `uncontended` is no less.
  Seconds late_messages{};
  KernelUse kernel{};
  std::string algorithm;  ///< as printed: "ring"
  std::string protocol;   ///< "ll", "ll128", "simple", or "" when the source does not say
  std::string source;     ///< "table" | "fit" | "model"
  /// What a table lacks, for the user: it has this collective, but not among so many ranks.
  std::string missing{};
  /// The fastest of the ways that the library did not take, where one takes less than
  /// `uncontended`.
  std::optional<FasterWay> faster{};
};

/// Prices one algorithm. A pure function: the same question gives the same answer.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// @param pattern  what is planned; @param size  bytes reduced or broadcast on each rank, >= 0.
  [[nodiscard]] virtual CollectiveCost price(const Pattern& pattern, Bytes size) const = 0;
};

}  // namespace gradwire
