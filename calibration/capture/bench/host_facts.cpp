#include "calibration/capture/bench/host_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

namespace gradwire::calibration {
namespace {

namespace fs = std::filesystem;

/// The first line of a file, "" where there is none.
std::string line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::optional<long long> number_of(const fs::path& file) {
  const std::string line = line_of(file);
  char* end = nullptr;
  const long long number = std::strtoll(line.c_str(), &end, 10);
  if (end == line.c_str()) return std::nullopt;
  return number;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The part of "key : value" behind the colon.
std::string value_of(const std::string& line) {
  const std::size_t colon = line.find(':');
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  return colon == std::string::npos || begin == std::string::npos ? "" : line.substr(begin);
}

void read_cpus(const fs::path& root, HostFacts& facts) {
  std::ifstream stream(root / "proc/cpuinfo");
  std::set<std::string> sockets;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("processor", 0) == 0) ++facts.cpus;
    if (line.rfind("model name", 0) == 0 && facts.cpu.empty()) facts.cpu = value_of(line);
    if (line.rfind("physical id", 0) == 0) sockets.insert(value_of(line));
  }
  facts.sockets = static_cast<int>(sockets.size());
}

void read_memory(const fs::path& root, HostFacts& facts) {
  std::ifstream stream(root / "proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("MemTotal:", 0) != 0) continue;
    facts.memory_bytes = std::strtoll(value_of(line).c_str(), nullptr, 10) * 1024;  // from kB
  }
}

void read_numa(const fs::path& root, HostFacts& facts) {
  for (const fs::path& folder : entries(root / "sys/devices/system/node")) {
    const std::string name = folder.filename().string();
    if (name.rfind("node", 0) != 0) continue;
    facts.numa.push_back({std::atoi(name.c_str() + 4), line_of(folder / "cpulist")});
  }
  std::sort(facts.numa.begin(), facts.numa.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
}

/// PCI address and NUMA node of a card's device folder.
void read_place(const fs::path& device, NetworkCard& card) {
  std::error_code error;
  const fs::path target = fs::canonical(device, error);
  if (!error) card.bus = target.filename().string();
  const auto numa = number_of(device / "numa_node");
  if (numa && *numa >= 0) card.numa = static_cast<int>(*numa);
}

void read_cards(const fs::path& root, HostFacts& facts) {
  for (const fs::path& folder : entries(root / "sys/class/infiniband")) {
    NetworkCard card;
    card.name = folder.filename().string();
    const bool ethernet = line_of(folder / "ports/1/link_layer") == "Ethernet";  // RoCE
    card.kind = ethernet ? "ethernet" : "infiniband";
    // "400 Gb/sec (4X NDR)"
    card.rate_bits_per_s = std::strtod(line_of(folder / "ports/1/rate").c_str(), nullptr) * 1e9;
    read_place(folder / "device", card);
    facts.cards.push_back(card);
  }
  for (const fs::path& folder : entries(root / "sys/class/net")) {
    if (!fs::exists(folder / "device")) continue;  // loopback, bridges
    NetworkCard card;
    card.name = folder.filename().string();
    card.kind = "ethernet";
    const auto speed = number_of(folder / "speed");  // Mbit/s, -1 where the link is down
    if (speed && *speed > 0) card.rate_bits_per_s = static_cast<double>(*speed) * 1e6;
    read_place(folder / "device", card);
    facts.cards.push_back(card);
  }
}

}  // namespace

HostFacts read_host_facts(const fs::path& root) {
  HostFacts facts;
  facts.kernel = line_of(root / "proc/sys/kernel/osrelease");
  read_cpus(root, facts);
  read_memory(root, facts);
  read_numa(root, facts);
  read_cards(root, facts);
  return facts;
}

}  // namespace gradwire::calibration
