#include "calibration/capture/bench/cublas_api.hpp"

#include <initializer_list>
#include <string>

#include "calibration/capture/bench/cuda_support.hpp"

namespace gradwire::calibration {
namespace {

constexpr int success = 0;             // CUBLAS_STATUS_SUCCESS
constexpr int compute_tf32 = 77;       // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int algorithm_default = -1;  // CUBLAS_GEMM_DEFAULT

void check(int status, const char* call) {
  if (status == success) return;
  throw DeviceError(std::string(call) + ": cuBLAS status " + std::to_string(status));
}

}  // namespace

DynamicLibrary load_first_of(std::initializer_list<const char*> names, const char* what) {
  std::string tried;
  for (const char* name : names) {
    DynamicLibrary library = DynamicLibrary::load(name);
    if (library.is_open()) return library;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  throw DeviceError(std::string("no ") + what + " (" + tried +
                    "); expected it in LD_LIBRARY_PATH (pip's nvidia-*-cu* packages have it under "
                    "site-packages/nvidia/*/lib)");
}

Cublas::Cublas() {
  const DynamicLibrary library =
      load_first_of({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}, "cuBLAS");
  int (*create)(Handle*) = nullptr;
  if (!library.find("cublasCreate_v2", create) || !library.find("cublasDestroy_v2", destroy_) ||
      !library.find("cublasSetStream_v2", set_stream_) || !library.find("cublasGemmEx", gemm_)) {
    throw DeviceError(library.name() + " lacks cublasGemmEx; expected cuBLAS 11 or later");
  }
  check(create(&handle_), "cublasCreate");
}

Cublas::~Cublas() {
  if (handle_ != nullptr) destroy_(handle_);
}

void Cublas::multiply(cudaStream_t stream, int side, const float* a, const float* b, float* c) {
  const float one = 1;
  const float zero = 0;
  check(set_stream_(handle_, stream), "cublasSetStream");
  check(gemm_(handle_, 0, 0, side, side, side, &one, a, CUDA_R_32F, side, b, CUDA_R_32F, side,
              &zero, c, CUDA_R_32F, side, compute_tf32, algorithm_default),
        "cublasGemmEx");
}

}  // namespace gradwire::calibration
