#include "calibration/trace/nccl_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

#include "sim/core/text_lines.hpp"

namespace gradwire {
namespace {

/// As NCCL prints it, in small letters, and as we write it; the place is NCCL's number.
using Name = std::pair<std::string_view, std::string_view>;

constexpr std::array<Name, 7> printed_algorithms = {{{"tree", "tree"},
                                                     {"ring", "ring"},
                                                     {"collnetdirect", "collnet_direct"},
                                                     {"collnetchain", "collnet_chain"},
                                                     {"nvls", "nvls"},
                                                     {"nvlstree", "nvls_tree"},
                                                     {"pat", "pat"}}};
constexpr std::array<Name, 3> printed_protocols = {
    {{"ll", "ll"}, {"ll128", "ll128"}, {"simple", "simple"}}};

template <std::size_t count>
std::string find_name(const std::array<Name, count>& names, std::string_view printed) {
  if (const auto index = whole_number(printed)) {
    const bool known = *index >= 0 && *index < static_cast<long long>(count);
    return known ? std::string(names.at(static_cast<std::size_t>(*index)).second) : "";
  }
  std::string small(printed);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const auto found = std::ranges::find(names, std::string_view(small), &Name::first);
  return found == names.end() ? "" : std::string(found->second);
}

}  // namespace

std::string nccl_algorithm(std::string_view printed) {
  return find_name(printed_algorithms, printed);
}

std::string nccl_protocol(std::string_view printed) {
  return find_name(printed_protocols, printed);
}

std::optional<CollectiveKind> nccl_operation(std::string_view printed) {
  static constexpr std::array<std::pair<std::string_view, CollectiveKind>, 9> operations = {{
      {"AllReduce", CollectiveKind::all_reduce},
      {"ReduceScatter", CollectiveKind::reduce_scatter},
      {"AllGather", CollectiveKind::all_gather},
      {"Broadcast", CollectiveKind::broadcast},
      {"Reduce", CollectiveKind::reduce},
      {"AlltoAll", CollectiveKind::all_to_all},
      {"Gather", CollectiveKind::gather},
      {"Scatter", CollectiveKind::scatter},
      {"SendRecv", CollectiveKind::send_recv},
  }};
  for (const auto& [name, op] : operations) {
    if (name == printed) return op;
  }
  return std::nullopt;
}

}  // namespace gradwire
