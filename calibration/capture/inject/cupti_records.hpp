#pragma once

#include <cupti.h>

#include <cstddef>

/// CUPTI's record structs of the headers at hand, by names without numbers, and what must hold of
/// them. A record has the layout of the library that runs; the fields up to `name` of a kernel, and
/// those of a copy or memset up to the correlation, have stood at the same place since CUDA 9.
namespace gradwire::calibration {

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
using CopyActivity = CUpti_ActivityMemcpy6;
using DeviceActivity = CUpti_ActivityDevice5;
#else
using KernelActivity = CUpti_ActivityKernel9;
using CopyActivity = CUpti_ActivityMemcpy5;
using DeviceActivity = CUpti_ActivityDevice5;
#endif
using PeerCopyActivity = CUpti_ActivityMemcpyPtoP4;
using MemsetActivity = CUpti_ActivityMemset4;
using CallActivity = CUpti_ActivityAPI;
using LinkActivity = CUpti_ActivityExternalCorrelation;
using NvlinkActivity = CUpti_ActivityNvLink4;
using PcieActivity = CUpti_ActivityPcie;

// The stable prefixes, as in CUpti_ActivityKernel4 (CUDA 9) and its neighbours.
static_assert(offsetof(KernelActivity, start) == 16 && offsetof(KernelActivity, end) == 24);
static_assert(offsetof(KernelActivity, deviceId) == 40 && offsetof(KernelActivity, streamId) == 48);
static_assert(offsetof(KernelActivity, gridX) == 52 && offsetof(KernelActivity, gridZ) == 60);
static_assert(offsetof(KernelActivity, correlationId) == 92 &&
              offsetof(KernelActivity, name) == 104);
static_assert(offsetof(KernelActivity, name) == offsetof(CUpti_ActivityKernel4, name));
static_assert(offsetof(KernelActivity, correlationId) ==
              offsetof(CUpti_ActivityKernel4, correlationId));
static_assert(offsetof(CopyActivity, copyKind) == 4 && offsetof(CopyActivity, bytes) == 8);
static_assert(offsetof(CopyActivity, start) == 16 && offsetof(CopyActivity, deviceId) == 32);
static_assert(offsetof(CopyActivity, correlationId) ==
              offsetof(CUpti_ActivityMemcpy4, correlationId));
static_assert(offsetof(PeerCopyActivity, bytes) == 8 && offsetof(PeerCopyActivity, start) == 16);
static_assert(offsetof(PeerCopyActivity, correlationId) ==
              offsetof(CUpti_ActivityMemcpyPtoP3, correlationId));
static_assert(offsetof(MemsetActivity, bytes) == 8 && offsetof(MemsetActivity, start) == 16);
static_assert(offsetof(MemsetActivity, correlationId) ==
              offsetof(CUpti_ActivityMemset3, correlationId));
static_assert(sizeof(CallActivity) == 40 && sizeof(LinkActivity) == 24);
// CUDA's alignment of records; buffers are aligned to it.
static_assert(ACTIVITY_RECORD_ALIGNMENT == 8);

}  // namespace gradwire::calibration
