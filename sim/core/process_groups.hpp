#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/core/placement.hpp"

namespace gradwire {

/// Ranks that communicate with each other, each with a communicator of this group.
struct ProcessGroup {
  std::string name;        ///< its family's and its number in it: "tp 3"
  std::vector<int> ranks;  ///< of the job, in the order in which the group counts them

  bool operator==(const ProcessGroup&) const = default;
};

/// Groups that do the same at once.
struct GroupFamily {
  std::string name;
  std::vector<ProcessGroup> groups;

  bool operator==(const GroupFamily&) const = default;
};

/// Numbers the families of groups that a job has, from 0.
enum class FamilyId : std::int32_t {};
/// Those that every job has, see placement_families; what a job adds is numbered from `own` on.
namespace families {
inline constexpr FamilyId all{0};      ///< every rank
inline constexpr FamilyId node{1};     ///< one group a machine: its ranks
inline constexpr FamilyId across{2};   ///< one a local rank: those of that number on all machines
inline constexpr FamilyId leaders{3};  ///< the first rank of each machine
inline constexpr FamilyId own{4};
}  // namespace families

/// The families that a placement gives, in the order of their numbers, named as these. Machines
/// come in the order of their first ranks: what a machine is called does not matter.
/// @return families of groups with at least one rank; without ranks, without groups.
[[nodiscard]] std::vector<GroupFamily> placement_families(const Placement& placement);

/// How a job splits its work over ranks. The numbers are sizes of groups, all at least 1.
struct ParallelSizes {
  int tensor = 1;    ///< tp: a layer's matrices
  int context = 1;   ///< cp: a sequence
  int expert = 1;    ///< ep: experts of a layer, over ranks of the same stage and tensor rank
  int data = 1;      ///< dp: the batch
  int pipeline = 1;  ///< pp: the layers, as stages
};

/// A way in which ranks of a ParallelLayout differ.
enum class ParallelAxis : std::uint8_t {
  tensor,
  context,
  data,
  pipeline,
  expert,       ///< which experts a rank holds
  expert_data,  ///< among the ranks that hold the same experts
};

/// Short as in groups' names: "tp", "cp", "dp", "pp", "ep", "edp".
[[nodiscard]] std::string name_of(ParallelAxis axis);

/// The process groups of a job that is split in several ways at once.
///
/// Ranks stand on a grid of tp x cp x dp x pp, tp fastest: neighbours share a layer's matrices. In
/// layers of experts the same ranks stand on a second grid of tp x ep x edp x pp, where ep x edp is
/// cp x dp. Source: Megatron-LM, megatron/core/parallel_state.py, RankGenerator and
/// initialize_model_parallel, order "tp-cp-ep-dp-pp", the experts' tensor size that of the others.
class ParallelLayout {
 public:
  /// @throws SimulationError when a size is less than 1, or ep does not divide cp * dp.
  explicit ParallelLayout(const ParallelSizes& sizes);

  [[nodiscard]] int world_size() const { return world_size_; }

  /// The groups of ranks that differ in these axes alone; the family is named "tp" or, of several
  /// axes, "tp-dp". Groups and the ranks in them come in rank order of the axes: tp changes first,
  /// pp last. Every rank is in exactly one group.
  /// @param axes  in any order, at least one.
  /// @throws SimulationError when an axis of experts stands beside cp or dp: those are of two
  /// grids.
  [[nodiscard]] GroupFamily family(std::span<const ParallelAxis> axes) const;

 private:
  struct Extent {
    ParallelAxis axis;
    int size;
  };

  std::vector<Extent> dense_;    ///< fastest first
  std::vector<Extent> experts_;  ///< the same ranks in layers of experts
  int world_size_ = 1;
};

}  // namespace gradwire
