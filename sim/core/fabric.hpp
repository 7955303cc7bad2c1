#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/link_graph.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// The kind of network port on a NIC: what a fabric link gives, with its source.
struct PortSpec {
  std::string name;          ///< "ib_edr"
  std::string kind;          ///< tcp | roce | ib | efa | slingshot
  BytesPerSecond bandwidth;  ///< payload, one direction
  Seconds latency;           ///< NIC to switch or switch to NIC, one way
  /// What one TCP connection carries at most, > 0; absent: as much as the port.
  std::optional<BytesPerSecond> connection_bandwidth{};
  /// Connections that a library which opens several (NCCL) opens for each pair of a channel.
  int connections = 1;
  /// What both directions carry together, of twice the bandwidth; from 0.5 (one direction at a
  /// time) to 1.
  double duplex_efficiency = 1;
  /// Kernel's time for a message at this end, before its first byte moves.
  Seconds message_overhead{};
  /// The time that the port's provider takes, one message after the other, for each that arrives
  /// before its receive is posted; 0 where the sender waits for the receive (verbs, as NCCL uses
  /// them).
  Seconds late_message{};
  /// More that a message of several packets takes to GPU memory: its receiver learns of it by the
  /// first one, and reads the rest.
  Seconds rendezvous{};
  Bytes eager{};  ///< the longest message that goes whole with the first packet
  /// The NIC reads and writes GPU memory; false: data pass through host memory on the way.
  bool gpudirect = true;
  bool operator==(const PortSpec&) const = default;
};

/// Machines of one kind in a row: what a builder must know to give each NIC a port.
struct PortGroup {
  int machines = 0;
  int nics = 0;  ///< of each machine
  PortSpec port;
};

/// Who takes which of several equal-cost paths.
enum class Routing : std::uint8_t {
  /// Each flow takes one way, by a hash of (ecmp_seed, source port, destination port): two flows
  /// may meet on one trunk while another idles.
  ecmp,
  /// Each flow is divided evenly over all paths, as adaptive routing by packet does.
  spread,
};

/// Network switches and the trunks between them. Ports (NICs) hang on switches;
/// routes are found among switches only, so that cost does not follow the number of ports.
class Fabric {
 public:
  struct Switch {
    std::string name;
    int count = 1;  ///< switches that this one stands for (see merge_equal_ways)
  };
  using SwitchGraph = LinkGraph<Switch>;
  using SwitchId = SwitchGraph::Vertex;
  /// The trunks from one switch to another (not the same) by a rule of the topology's own.
  /// @param pick  a hash of the flow, to choose among equal-cost paths.
  using RouteRule = std::function<std::vector<int>(const Fabric& fabric, SwitchId from, SwitchId to,
                                                   std::uint64_t pick)>;

  std::string kind;  ///< "single_switch"
  PortSpec port;     ///< of the ports that are attached next
  Routing routing = Routing::ecmp;
  std::uint64_t ecmp_seed = 1;
  /// Empty: the routes of least latency, then of fewest trunks.
  RouteRule rule;

  SwitchId add_switch(std::string name, int count = 1);
  /// Both directions. A trunk's `lanes` are parallel cables that a flow is divided over; its
  /// bandwidth is that of all of them.
  void connect(SwitchId a, SwitchId b, const Link& link);
  /// Attaches the next port (ports are numbered in the order of the calls), of the kind `port`.
  /// @return its number.
  int attach(SwitchId at);

  [[nodiscard]] const SwitchGraph& graph() const { return graph_; }
  [[nodiscard]] int port_count() const { return static_cast<int>(port_switch_.size()); }
  [[nodiscard]] SwitchId switch_of(int port_index) const;
  [[nodiscard]] const PortSpec& port_spec(int port_index) const;
  /// How many kinds of ports are attached, and each of them, in order of first appearance.
  [[nodiscard]] const std::vector<PortSpec>& port_specs() const { return specs_; }
  /// Numbers the connected parts of the fabric from 0, by lowest switch.
  [[nodiscard]] int island_of(int port_index) const;
  [[nodiscard]] bool reaches(int port_from, int port_to) const {
    return island_of(port_from) == island_of(port_to);
  }
  /// The number of the first trunk from one switch to its neighbour. REQUIRES: there is one.
  [[nodiscard]] int trunk_between(SwitchId from, SwitchId to) const;
  /// The trunks (in edge order) that a flow between two ports takes; empty on one switch.
  /// @throws SimulationError when there is no way; the message names both switches.
  [[nodiscard]] std::vector<int> route(int port_from, int port_to) const;
  /// How many trunks differ in the first choice that a flow from `from` to `to` has: 1 when there
  /// is only one way, 0 when none. Of the default rule.
  [[nodiscard]] std::size_t choices(SwitchId from, SwitchId to) const;

 private:
  using Cost = std::int64_t;
  /// What is found when it is asked for first, on any thread.
  struct Found {
    std::once_flag has_islands;
    std::vector<int> islands;  ///< by switch
    std::once_flag has_switches;
    std::vector<std::vector<Cost>> costs;         ///< by destination
    std::unique_ptr<std::once_flag[]> has_costs;  // NOLINT(modernize-avoid-c-arrays): none moves
  };
  [[nodiscard]] std::vector<int> find_islands() const;
  /// Cost of the best way from every switch to `to`.
  [[nodiscard]] const std::vector<Cost>& costs_to(SwitchId to) const;
  [[nodiscard]] std::vector<Cost> find_costs(SwitchId to) const;
  /// The trunks out of `at` that begin a best way.
  void best_trunks(SwitchId at, const std::vector<Cost>& costs,
                   std::vector<SwitchGraph::Edge>& out) const;

  SwitchGraph graph_;
  std::vector<SwitchId> port_switch_;
  std::vector<std::uint32_t> port_spec_;
  std::vector<PortSpec> specs_;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();  ///< of this graph, and its copies
};

}  // namespace gradwire
