#pragma once

#include <nvtx3/nvToolsExt.h>

namespace gradwire::calibration {

/// Starts recording what CUDA does, when the driver loads us. Idempotent; never fails the program:
/// what is wrong is one line on standard error. @return 1, as the driver expects
int start_cuda();

/// Starts recording what an NVTX client says; each library of the process with NVTX in it calls
/// once. @return 1 where it will call us
int start_nvtx(NvtxGetExportTableFunc_t get_export_table);

}  // namespace gradwire::calibration
