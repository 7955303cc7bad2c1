#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "calibration/capture/bench/cuda_support.hpp"
#include "calibration/capture/common/dynamic_library.hpp"

namespace gradwire::calibration {

/// A convolution of square images with stride 1 that keeps their size: odd kernels, padded.
struct ConvolutionShape {
  int batch = 0;
  int channels = 0;  ///< in and out
  int size = 0;      ///< of an image's side
  int kernel = 0;    ///< of the filter's side
};

/// A forward convolution by cuDNN, which frameworks run: fp32 in memory, TF32 in the tensor cores
/// where there are any (cuDNN's default), NCHW. Found at run time; declared here (cudnn_cnn_v9.h).
class CudnnConvolution {
 public:
  /// @throws DeviceError where there is no libcudnn.so.9 or .8, or it refuses the shape.
  explicit CudnnConvolution(const ConvolutionShape& shape);
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;
  CudnnConvolution(CudnnConvolution&&) = delete;
  CudnnConvolution& operator=(CudnnConvolution&&) = delete;
  ~CudnnConvolution();

  void launch(cudaStream_t stream, const float* input, const float* filter, float* output);

 private:
  using Handle = struct CudnnHandleTag*;
  using Descriptor = struct CudnnDescriptorTag*;

  void describe(const DynamicLibrary& library, const ConvolutionShape& shape);
  void choose(const DynamicLibrary& library);

  Handle handle_ = nullptr;
  Descriptor tensor_ = nullptr;  ///< of the input, and of the output, which is as large
  Descriptor filter_ = nullptr;
  Descriptor convolution_ = nullptr;
  int algorithm_ = 0;
  DeviceArray<char> workspace_;
  int (*destroy_)(Handle) = nullptr;
  int (*set_stream_)(Handle, cudaStream_t) = nullptr;
  int (*forward_)(Handle, const void*, Descriptor, const void*, Descriptor, const void*, Descriptor,
                  int, void*, std::size_t, const void*, Descriptor, void*) = nullptr;
};

}  // namespace gradwire::calibration
