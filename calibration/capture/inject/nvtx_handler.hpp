#pragma once

#include <nvtx3/nvToolsExt.h>

#include "calibration/capture/inject/settings.hpp"

namespace gradwire::calibration {

/// Puts our functions into the table that an NVTX client gives its tool: marks always, ranges in
/// full mode. They record with Recorder::current(), and do nothing without one. NVTX is not routed
/// to CUPTI: ours works without a GPU, and sees NCCL's payloads while they are alive.
/// @return 1, or 0 where the client's tables are older than ours
int install_nvtx(NvtxGetExportTableFunc_t get_export_table, RecordMode mode);

}  // namespace gradwire::calibration
