#pragma once

#include <memory>
#include <string>

#include "sim/validation/series.hpp"

namespace gradwire::validation {

/// What a calibrated node was measured at, against what its own profiles and fits predict: the
/// folder that `gradwire calibrate fit DIR -o FOLDER` wrote. Its jobs.yaml (schema
/// gradwire.calibrated/1) names the jobs: one GPU without communication, or DDP on the recorded
/// GPUs of the node. Of each collective and each compressor, every second size is predicted from
/// the others; rows from 1 MiB on are scored.
/// @throws ConfigError at the place in a file.
[[nodiscard]] std::unique_ptr<Series> open_calibrated(const std::string& folder,
                                                      const Predict& predict);

/// results/reference/collectives.yaml: each table predicted from its cluster alone, what NCCL
/// printed itself, and fits to a part of the rows. Page: collectives.md.
[[nodiscard]] std::unique_ptr<Series> open_collectives();

/// results/reference/collectives_blind.yaml: tables that were written down before they were
/// predicted, under no gate (collectives_blind.md, written by hand).
[[nodiscard]] std::unique_ptr<Series> open_blind_collectives();

/// What analytic profiles are calibrated on, fitted again each time, and how far they carry
/// (results/reference/compute.yaml): the classes of the recordings' layers; factors on tables that
/// no recording stands for; each model and each GPU predicted by a fit without it; and published
/// rates that nothing is fitted to.
[[nodiscard]] std::unique_ptr<Series> open_compute();

/// Holds scenarios/pytorch_ddp_v100.yaml against PyTorch's DDP benchmark
/// (results/reference/ddpbench.yaml): fits the wrapper's kernel overhead to the 1-GPU rows and the
/// slowdown under communication to the 2-GPU rows, and predicts 4, 8 and 16 GPUs. The constants in
/// the scenario are to be those of the fit.
[[nodiscard]] std::unique_ptr<Series> open_ddpbench(const Predict& predict);

/// Analytic profiles against published rates of one GPU (results/reference/single_gpu.yaml).
[[nodiscard]] std::unique_ptr<Series> open_single_gpu();

}  // namespace gradwire::validation
