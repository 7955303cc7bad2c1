#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "tests/collectives/random_cluster.hpp"

namespace gradwire::test {

/// A collective on a cluster of equal machines, as a user writes it.
struct CollectiveCase {
  std::string node;
  int gpus = 1;   ///< of each machine
  int nodes = 1;  ///< machines
  /// A name of `gradwire list links`; "": a port of the three below.
  std::string link;
  std::string port_kind = "ib";  ///< ib | roce | tcp
  double gbit = 100;
  double latency_us = 1;
  int ports = 1;             ///< of each machine
  bool gpudirect = true;     ///< of a port that is not TCP's
  int oversubscription = 0;  ///< of a fat tree with 4 machines on a leaf; 0: one switch
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t size = 1 << 20;  ///< bytes
  std::string library = "nccl";
  std::string version;  ///< "": the library's default
};

/// The scenario; its last line says how to run it.
[[nodiscard]] std::string yaml_of(const CollectiveCase& one);

/// What a collective takes alone, in seconds, and by which way.
struct CollectivePrice {
  double taken = 0;        ///< by the way that the library takes
  double best = 0;         ///< by the fastest of its ways
  std::string way;         ///< "ring simple"
  std::string faster_way;  ///< "" where none is
  bool is_warned = false;  ///< a run tells of the faster way
};
/// Absent where the library cannot do it there.
[[nodiscard]] std::optional<CollectivePrice> price_of(const CollectiveCase& one);

/// What is changed for the better or the worse, all else equal.
enum class CollectiveLaw : std::uint8_t {
  faster_link,
  more_ports,
  lower_latency,
  gpudirect,
  larger_message,
  more_machines,
  oversubscription,
};
inline constexpr int collective_law_count = 7;
[[nodiscard]] std::string_view name_of(CollectiveLaw law);

/// Two cases, of which `better` must not take longer than `worse`.
struct CollectivePair {
  CollectiveCase worse;
  CollectiveCase better;
};
/// What a law is tried on: a case, and how far it is changed (1 to 8 times).
struct CollectiveTrial {
  CollectiveCase base;
  CollectiveLaw law = CollectiveLaw::faster_link;
  double factor = 2;
};
/// Absent where the law says nothing of the base (no network to make faster).
[[nodiscard]] std::optional<CollectivePair> pair_of(const CollectiveTrial& trial);

[[nodiscard]] CollectiveTrial random_trial(std::uint64_t seed);

/// Simpler trials: fewer machines, fewer GPUs, a rounder size, a rounder factor, one switch.
[[nodiscard]] std::vector<CollectiveTrial> simpler(const CollectiveTrial& trial);

}  // namespace gradwire::test
