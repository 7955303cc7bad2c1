#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gradwire::calibration {

struct NumaNode {
  int id = 0;
  std::string cpus;  ///< as the kernel writes them: "0-55,112-167"
};

/// A network card; a rate of 0 is unknown (a link that is down).
struct NetworkCard {
  std::string name;  ///< "mlx5_0", "eth0"
  std::string kind;  ///< "infiniband" or "ethernet"
  double rate_bits_per_s = 0;
  std::string bus;  ///< PCI address, "" where unknown
  std::optional<int> numa;
};

/// What the kernel tells of a machine.
struct HostFacts {
  std::string kernel;
  std::string cpu;  ///< model name of the first
  int cpus = 0;     ///< logical
  int sockets = 0;
  std::int64_t memory_bytes = 0;
  std::vector<NumaNode> numa;
  std::vector<NetworkCard> cards;  ///< InfiniBand first; Ethernet that is a device of its own
};

/// @param root  "/"; another where the same files lie, for tests. What a machine does not tell is
///              empty.
[[nodiscard]] HostFacts read_host_facts(const std::filesystem::path& root = "/");

}  // namespace gradwire::calibration
