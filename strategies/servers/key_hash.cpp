#include "strategies/servers/key_hash.hpp"

#include <functional>

namespace gradwire {
namespace {

constexpr std::uint64_t djb2_start = 5381;
constexpr std::uint64_t djb2_factor = 33;
constexpr std::uint64_t sdbm_factor = 65599;
constexpr std::uint64_t naive_factor = 9973;

std::uint64_t multiplicative(std::uint64_t key, std::uint64_t start, std::uint64_t factor) {
  std::uint64_t hash = start;
  for (const char digit : std::to_string(key)) {
    hash = hash * factor + static_cast<std::uint64_t>(digit);
  }
  return hash;
}

int mixed_mode(std::uint64_t key, const KeyHash& hash, const ServerLayout& layout) {
  std::vector<int> separate;
  std::vector<int> colocated;
  for (int server = 0; server < layout.servers(); ++server) {
    (layout.colocated(server) ? colocated : separate).push_back(server);
  }
  const auto pick = [](const std::vector<int>& servers, std::uint64_t number) {
    return servers[static_cast<std::size_t>(number % servers.size())];
  };
  const std::uint64_t slot = djb2(key) % static_cast<std::uint64_t>(hash.mixed_mode_bound);
  const double share = separate_share(layout.machines(), static_cast<int>(separate.size()));
  const double limit = share * static_cast<double>(hash.mixed_mode_bound);
  const bool goes_apart = static_cast<double>(slot) < limit;
  if (colocated.empty() || (goes_apart && !separate.empty())) return pick(separate, djb2(slot));
  return pick(colocated, djb2(slot));
}

}  // namespace

std::span<const std::string> key_hashes() {
  static const std::vector<std::string> names = {"djb2", "naive", "built_in", "sdbm", "mixed"};
  return names;
}

std::uint64_t djb2(std::uint64_t key) {
  return multiplicative(key, djb2_start, djb2_factor);
}

double separate_share(int workers, int separate) {
  const double n = workers;
  const double m = separate;
  const double above = 2 * m * (n - 1);
  const double below = n * (n + m) - 2 * m;
  return below <= above ? (separate > 0 ? 1.0 : 0.0) : above / below;
}

int server_of(std::uint64_t key, const KeyHash& hash, const ServerLayout& layout) {
  if (hash.function == "mixed") return mixed_mode(key, hash, layout);
  std::uint64_t number = 0;
  if (hash.function == "djb2") {
    number = djb2(key);
  } else if (hash.function == "sdbm") {
    number = multiplicative(key, 0, sdbm_factor);
  } else if (hash.function == "naive") {
    const std::uint64_t part = key % (std::uint64_t{1} << key_part_bits);
    number = ((key >> key_part_bits) + part) * naive_factor;
  } else {
    number = std::hash<std::string>{}(std::to_string(key)) *
             static_cast<std::uint64_t>(hash.built_in_coef);
  }
  return static_cast<int>(number % static_cast<std::uint64_t>(layout.servers()));
}

}  // namespace gradwire
