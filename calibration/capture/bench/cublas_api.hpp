#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include "calibration/capture/common/dynamic_library.hpp"

namespace gradwire::calibration {

/// What we use of cuBLAS, found at run time: a node's cuBLAS may live in a Python package. Declared
/// here (cuBLAS API reference, "cublasGemmEx"; cublas_api.h of CUDA 12 and 13): statuses and
/// enumerations are ints there.
class Cublas {
 public:
  /// A handle on the current GPU. @throws DeviceError where no libcublas is found.
  Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  Cublas(Cublas&&) = delete;
  Cublas& operator=(Cublas&&) = delete;
  ~Cublas();

  /// c = a b in TF32, square matrices of `side` rows, all by columns.
  void multiply(cudaStream_t stream, int side, const float* a, const float* b, float* c);

 private:
  using Handle = struct CublasHandleTag*;
  int (*destroy_)(Handle) = nullptr;
  int (*set_stream_)(Handle, cudaStream_t) = nullptr;
  int (*gemm_)(Handle, int, int, int, int, int, const void*, const void*, cudaDataType, int,
               const void*, cudaDataType, int, const void*, void*, cudaDataType, int, int,
               int) = nullptr;
  Handle handle_ = nullptr;
};

/// The first of several names that the loader finds. @throws DeviceError naming them all, with
/// what to do.
[[nodiscard]] DynamicLibrary load_first_of(std::initializer_list<const char*> names,
                                           const char* what);

}  // namespace gradwire::calibration
