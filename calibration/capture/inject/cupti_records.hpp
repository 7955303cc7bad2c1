#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

/// CUPTI's record structs of the headers at hand, by names without numbers, and what must hold of
/// them. A record has the layout of the library that runs, which may be another than the headers'
/// (PyTorch's wheel brings CUPTI 12, a build may be against 13): every field that is read stands at
/// the same place in all of CUDA 12 and 13, whose structs have only grown at their ends.
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
// A graph's id: since CUDA 11.1 (CUPTI's changelog) in CUpti_ActivityKernel5, Memcpy4, MemcpyPtoP3
// and Memset3, and where it stood there in all that came after.
static_assert(offsetof(KernelActivity, graphId) == 156 &&
              offsetof(CUpti_ActivityKernel5, graphId) == 156 &&
              offsetof(CUpti_ActivityKernel9, graphId) == 156);
static_assert(offsetof(CopyActivity, graphId) == 72 &&
              offsetof(CUpti_ActivityMemcpy4, graphId) == 72);
static_assert(offsetof(PeerCopyActivity, graphId) == 80 &&
              offsetof(CUpti_ActivityMemcpyPtoP3, graphId) == 80);
static_assert(offsetof(MemsetActivity, graphId) == 72 &&
              offsetof(CUpti_ActivityMemset3, graphId) == 72);
static_assert(offsetof(DeviceActivity, name) == offsetof(CUpti_ActivityDevice4, name) &&
              offsetof(DeviceActivity, uuid) == offsetof(CUpti_ActivityDevice4, uuid) &&
              offsetof(DeviceActivity, isMigEnabled) ==
                  offsetof(CUpti_ActivityDevice4, isMigEnabled));
// CUDA's alignment of records; buffers are aligned to it.
static_assert(ACTIVITY_RECORD_ALIGNMENT == 8);

/// Whether records of a CUPTI of this version (cuptiGetVersion) have the fields above where we read
/// them: 19 to 28 are CUDA 12.0 to 12.9; from CUDA 13.0 on the number is 10000 * major + 100 *
/// minor
/// + patch (cupti_version.h).
constexpr bool has_known_layout(std::uint32_t version) {
  constexpr std::uint32_t cuda_12_first = 19;
  constexpr std::uint32_t counted_end = 100;  // versions that were counted from 1 are below
  constexpr std::uint32_t major_unit = 10000;
  constexpr std::uint32_t major_last = 13;
  return (version >= cuda_12_first && version < counted_end) || version / major_unit == major_last;
}

}  // namespace gradwire::calibration
