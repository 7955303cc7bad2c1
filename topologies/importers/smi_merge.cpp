#include "topologies/importers/smi_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "sim/core/error.hpp"

namespace gradwire {
namespace {

std::string_view merged_name(PathClass path) {
  constexpr std::array<std::string_view, 7> names = {"X",    "PIX", "PXB",    "PHB",
                                                     "NODE", "SYS", "unknown"};
  return names.at(static_cast<std::size_t>(path));
}

/// What both sources can tell apart: below one switch, below one processor, across processors.
int reach(PathClass path) {
  if (path <= PathClass::pxb) return 0;
  return path <= PathClass::node ? 1 : 2;
}

class Merger {
 public:
  Merger(const SmiMatrix& matrix, const std::string& file, const OtherSource& other)
      : matrix_(matrix), file_(file), other_(other) {
    match_gpus();
    match_nics();
  }

  void compare_paths(std::vector<std::string>& assumptions) const {
    for (std::size_t a = 0; a < matched_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!matched_[a] || !matched_[b]) continue;
        const PathClass told = matrix_.cells[*matched_[a]][*matched_[b]].path;
        const PathClass other = other_.paths[a][b];
        if (told == PathClass::unknown || reach(told) == reach(other)) continue;
        const std::string both = fmt::format(
            "{}-{} is {} in the matrix and {} in {}", matrix_.devices[*matched_[b]].name,
            matrix_.devices[*matched_[a]].name, merged_name(told), merged_name(other), other_.file);
        if (!by_bus_) {
          fail(both +
               "; the GPUs were matched by number, since the matrix's text has no bus ids: "
               "expected the same machine in both");
        }
        assumptions.push_back(both + ": the latter is taken");
      }
    }
  }

  /// The matrix's lanes in the other source's order of GPUs.
  [[nodiscard]] NvlinkLanes lanes(const std::vector<int>& own) const {
    const std::size_t gpus = other_.buses.size();
    std::vector<int> own_there(gpus);
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) own_there[*matched_[gpu]] = own[gpu];
    const NvlinkLanes there = lanes_of(matrix_, own_there);
    NvlinkLanes here(gpus);
    for (std::size_t a = 0; a < gpus; ++a) {
      here.into_switch[a] = there.into_switch[*matched_[a]];
      for (std::size_t b = 0; b < gpus; ++b) {
        here.direct[a][b] = there.direct[*matched_[a]][*matched_[b]];
      }
    }
    return here;
  }

  void compare_lanes(const NvlinkLanes& told, const NvlinkLanes& other) const {
    const auto differ = [&](const std::string& what, int here, int there) {
      if (here == there) return;
      fail(
          fmt::format("{} NVLinks {} in the matrix and {} in {}; expected the same machine in both",
                      what, here, there, other_.file));
    };
    for (std::size_t a = 0; a < told.direct.size(); ++a) {
      differ(fmt::format("GPU{} to NVSwitch:", a), told.into_switch[a], other.into_switch[a]);
      for (std::size_t b = 0; b < a; ++b) {
        differ(fmt::format("GPU{}-GPU{}:", b, a), told.direct[a][b], other.direct[a][b]);
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, 0, 0}, message);
  }

  void match_gpus() {
    const auto gpus = static_cast<std::size_t>(matrix_.gpus);
    if (gpus != other_.buses.size()) {
      fail(fmt::format("the matrix has {} GPUs and {} has {}; expected the same machine in both",
                       gpus, other_.file, other_.buses.size()));
    }
    by_bus_ = std::all_of(matrix_.devices.begin(), matrix_.devices.begin() + matrix_.gpus,
                          [](const SmiDevice& device) { return !device.bus.empty(); });
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      if (!by_bus_) {
        matched_.emplace_back(gpu);
        continue;
      }
      const auto found =
          std::find_if(matrix_.devices.begin(), matrix_.devices.begin() + matrix_.gpus,
                       [&](const SmiDevice& device) { return device.bus == other_.buses[gpu]; });
      if (found == matrix_.devices.begin() + matrix_.gpus) {
        fail(
            fmt::format("no GPU of the matrix has the bus id {} of {}; expected the same machine "
                        "in both",
                        other_.buses[gpu], other_.file));
      }
      matched_.emplace_back(static_cast<std::size_t>(found - matrix_.devices.begin()));
    }
  }

  void match_nics() {
    for (const std::string& name : other_.nics) {
      const auto found = std::find_if(matrix_.devices.begin() + matrix_.gpus, matrix_.devices.end(),
                                      [&](const SmiDevice& device) { return device.name == name; });
      const bool is_there = found != matrix_.devices.end();
      matched_.push_back(
          is_there ? std::optional(static_cast<std::size_t>(found - matrix_.devices.begin()))
                   : std::nullopt);
    }
  }

  const SmiMatrix& matrix_;
  const std::string& file_;
  const OtherSource& other_;
  bool by_bus_ = false;
  std::vector<std::optional<std::size_t>>
      matched_;  ///< device of the other source -> of the matrix
};

}  // namespace

NvlinkLanes lanes_of(const SmiMatrix& matrix, const std::vector<int>& own) {
  const auto gpus = static_cast<std::size_t>(matrix.gpus);
  NvlinkLanes lanes(gpus);
  std::vector<int> most(gpus);
  bool switched = false;
  for (std::size_t a = 0; a < gpus; ++a) {
    int sum = 0;
    for (std::size_t b = 0; b < gpus; ++b) {
      const int pair = matrix.cells[a][b].nvlinks;
      lanes.direct[a][b] = pair;
      most[a] = std::max(most[a], pair);
      sum += pair;
    }
    switched = switched || sum > own[a];
  }
  if (!switched) return lanes;
  lanes = NvlinkLanes(gpus);
  lanes.into_switch = most;
  return lanes;
}

void merge_matrix(const SmiMatrix& matrix, const std::string& matrix_file, const OtherSource& other,
                  const std::vector<int>& own_lanes, NvlinkLanes& lanes,
                  std::vector<std::string>& assumptions) {
  const Merger merger(matrix, matrix_file, other);
  merger.compare_paths(assumptions);
  const NvlinkLanes told = merger.lanes(own_lanes);
  if (!lanes.any() && told.any()) {
    lanes = told;
    assumptions.push_back(fmt::format("{} states no usable NVLinks; they are taken from {}",
                                      other.file, matrix_file));
  } else if (told.any()) {
    merger.compare_lanes(told, lanes);
  } else if (lanes.any()) {
    assumptions.push_back(
        fmt::format("{} has no NV# (as 'topo -mp' prints): the NVLinks of {} are taken",
                    matrix_file, other.file));
  }
}

}  // namespace gradwire
