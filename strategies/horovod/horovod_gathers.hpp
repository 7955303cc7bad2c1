#pragma once

#include "strategies/horovod/horovod_machines.hpp"
#include "strategies/horovod/horovod_options.hpp"

namespace gradwire {

/// All-gathers through host memory, of a Horovod that was built without NCCL's
/// (HOROVOD_GPU_ALLGATHER): PyTorch copies each rank's part to the host before and all of them back
/// to the GPU after, MPI gathers between. The background thread waits for the end.
///
/// With P ranks on m machines, S bytes of all parts together and the copy rate r of a core:
///   flat:         MPI_Allgatherv over all ranks, a ring: each sends (P-1)/P S to the next, in P -
///   1
///                 steps. Of several machines the network sets the pace; within one the ranks copy
///                 (P-1)/P S / r. Fused, S/P / r into the fusion buffer and S / r out of it.
///   hierarchical: each copies its S/P into a window that its machine's ranks share (S/P / r);
///                 MPI_Allgatherv between machines, every local rank for its parts at once, on
///                 unequal machines the first rank for all: each machine sends (m-1)/m S in m - 1
///                 steps; every rank copies S out of the window (S / r). Barriers of all ranks
///                 after each of the three. One machine: as flat.
///
/// Source: Horovod ops/mpi_operations.cc (MPIAllgather, MPIHierarchicalAllgather), operations.cc
/// (CreateOperationManager), torch/mpi_ops_v2.cc (DoAllgatherCudaOnCPU).
class HorovodGathers {
 public:
  HorovodGathers(const HorovodOptions& options, JobView job, HorovodMachines machines);

  /// @param size      of all ranks' parts together.
  /// @param exchange  the index of the first of exchanges() among the strategy's.
  [[nodiscard]] Operations stages(Bytes size, const std::vector<TensorId>& tensors, bool fused,
                                  int exchange) const;
  [[nodiscard]] std::vector<Exchange> exchanges() const;

 private:
  [[nodiscard]] bool hierarchical() const;

  HorovodOptions options_;
  JobView job_;
  HorovodMachines machines_;
};

}  // namespace gradwire
