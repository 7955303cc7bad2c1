#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gradwire {

/// What a link is: smp joins the processors of a machine, network its NICs to the fabric.
enum class LinkKind : std::uint8_t { nvlink, pcie, smp, network };

/// One direction of a link, or a transit limit, as the engine sees it.
struct ClusterLink {
  double capacity = 0;  ///< payload bytes per second
  double latency = 0;   ///< seconds, the kernel's time for a message included
  LinkKind kind = LinkKind::pcie;
  /// Of one TCP connection, bytes per second, and how many a library that opens several has.
  double connection_capacity = std::numeric_limits<double>::infinity();
  int connections = 1;

  auto operator<=>(const ClusterLink&) const = default;
};

/// Links by number, seen: thousands are of few types.
class ClusterLinks {
 public:
  /// Each of a type of its own. The links must outlive this.
  ClusterLinks(const std::vector<ClusterLink>& links)  // NOLINT(google-explicit-constructor)
      : types_(links), size_(links.size()) {}
  /// @param type_of  [link]: index into `types`. Both must outlive this.
  ClusterLinks(std::span<const ClusterLink> types, std::span<const std::uint32_t> type_of)
      : types_(types), type_of_(type_of), size_(type_of.size()) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const ClusterLink& operator[](std::size_t link) const {
    return types_[type_of(link)];
  }
  [[nodiscard]] std::uint32_t type_of(std::size_t link) const {
    return type_of_.empty() ? static_cast<std::uint32_t>(link) : type_of_[link];
  }
  [[nodiscard]] std::span<const ClusterLink> types() const { return types_; }
  /// Asks for the memory of a link's type soon to be read. Always inlined: to g++ 12 a call of it
  /// has no effect, and is taken out.
  [[gnu::always_inline]] void fetch(std::size_t link) const {
    if (!type_of_.empty()) __builtin_prefetch(&type_of_[link]);
  }

 private:
  std::span<const ClusterLink> types_;
  std::span<const std::uint32_t> type_of_;
  std::size_t size_;
};

}  // namespace gradwire
