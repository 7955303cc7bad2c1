#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/collectives/pattern.hpp"
#include "sim/core/compute_profile.hpp"
#include "sim/core/process_groups.hpp"
#include "sim/core/result.hpp"
#include "sim/core/units.hpp"

namespace gradwire {

/// Forward or backward of some layers for a micro-batch.
struct ComputePass {
  Part part = Part::forward;  ///< forward or backward
  int micro_batch = 0;
  int first_layer = 0;  ///< of the class's profile
  int end_layer = 0;    ///< behind the last one; backward begins with that
};

/// A collective of process groups of the job, all of them at once.
struct GroupCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  FamilyId family = families::own;  ///< of Job::families; its groups among the class's ranks
  Bytes size{0};
  /// The compute stream waits for it; false: only the family's next collective does.
  bool blocking = true;
};

/// A message from each rank to its counterpart in another class, on a stream of its own. It starts
/// when the receiver is there too.
struct Send {
  int to = 0;  ///< number of the class
  Bytes size{0};
};

/// The counterpart's next message: the compute stream waits for it.
struct Receive {
  int from = 0;  ///< number of the class
};

using ProgramStep = std::variant<ComputePass, GroupCollective, Send, Receive>;

/// What ranks do in an iteration before the optimizer, in the order in which their host launches
/// it.
using Program = std::vector<ProgramStep>;

/// A pass through all layers of a profile.
[[nodiscard]] ComputePass pass_of(Part part, int micro_batch, const ComputeProfile& profile);

/// Forward and backward of the whole profile for one micro-batch after the other.
[[nodiscard]] Program data_parallel_program(const ComputeProfile& profile, int micro_batches);

/// Micro-batches of a program.
[[nodiscard]] int micro_batches_of(const Program& program);

/// Most micro-batches whose forward has begun and whose backward has not ended: the activations
/// that a rank keeps.
[[nodiscard]] int micro_batches_kept(const Program& program);

/// Of a rank's own kernels in an iteration: its passes and the optimizer.
[[nodiscard]] Seconds device_time_of(const Program& program, const ComputeProfile& profile);

/// Ranks that do the same, each with its own part of the data or of a layer's matrices.
struct RankClass {
  std::string name;
  /// Their data-parallel groups, all of one size: in each, ranks that hold the same tensors and
  /// that one instance of the strategy serves. The i-th rank of all groups in their order is the
  /// counterpart of the i-th of another class.
  std::vector<ProcessGroup> data_parallel;
  ComputeProfile profile;  ///< of a rank: its layers for one micro-batch, its tensors
  Program program;
};

/// @throws SimulationError unless the classes have each of `ranks` ranks once, in data-parallel
/// groups of one size; all programs have as many micro-batches; passes are of layers that there
/// are, a layer's backward passes by rising micro-batch; and classes have as many ranks, and post
/// as many receives, as those that send to them.
void check_classes(const std::vector<RankClass>& classes, int ranks);

}  // namespace gradwire
