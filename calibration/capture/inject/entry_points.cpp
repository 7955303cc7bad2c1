// All that the shared library exports.
#include <nvtx3/nvToolsExt.h>

#include "calibration/capture/inject/session.hpp"

#define GRADWIRE_EXPORTED extern "C" __attribute__((visibility("default")))

/// Called by the CUDA driver within cuInit, where CUDA_INJECTION64_PATH names this library.
GRADWIRE_EXPORTED int InitializeInjection();  // NOLINT(readability-identifier-naming)
int InitializeInjection() {
  return gradwire::calibration::start_cuda();
}

/// Called by NVTX on its first use, where NVTX_INJECTION64_PATH names this library.
GRADWIRE_EXPORTED int InitializeInjectionNvtx2(  // NOLINT(readability-identifier-naming)
    NvtxGetExportTableFunc_t get_export_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  return gradwire::calibration::start_nvtx(get_export_table);
}
