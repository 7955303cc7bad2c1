#include "calibration/capture/bench/cudnn_api.hpp"

#include <array>
#include <string>

#include "calibration/capture/bench/cublas_api.hpp"

namespace gradwire::calibration {
namespace {

constexpr int success = 0;            // CUDNN_STATUS_SUCCESS
constexpr int float32 = 0;            // CUDNN_DATA_FLOAT
constexpr int nchw = 0;               // CUDNN_TENSOR_NCHW
constexpr int cross_correlation = 1;  // CUDNN_CROSS_CORRELATION

struct AlgorithmPerformance {  // cudnnConvolutionFwdAlgoPerf_t
  int algorithm;
  int status;
  float time;
  std::size_t memory;
  int determinism;
  int math_type;
  std::array<int, 3> reserved;
};

void check(int status, const char* call) {
  if (status == success) return;
  throw DeviceError(std::string(call) + ": cuDNN status " + std::to_string(status));
}

/// A function that must be there.
template <class Function>
Function* required(const DynamicLibrary& library, const char* symbol) {
  Function* function = nullptr;
  if (!library.find(symbol, function)) {
    throw DeviceError(library.name() + " lacks " + symbol + "; expected cuDNN 8 or 9");
  }
  return function;
}

}  // namespace

CudnnConvolution::CudnnConvolution(const ConvolutionShape& shape) {
  const DynamicLibrary library = load_first_of({"libcudnn.so.9", "libcudnn.so.8"}, "cuDNN");
  destroy_ = required<int(Handle)>(library, "cudnnDestroy");
  set_stream_ = required<int(Handle, cudaStream_t)>(library, "cudnnSetStream");
  forward_ = required<int(Handle, const void*, Descriptor, const void*, Descriptor, const void*,
                          Descriptor, int, void*, std::size_t, const void*, Descriptor, void*)>(
      library, "cudnnConvolutionForward");
  check(required<int(Handle*)>(library, "cudnnCreate")(&handle_), "cudnnCreate");
  describe(library, shape);
  choose(library);
}

CudnnConvolution::~CudnnConvolution() {
  if (handle_ != nullptr) destroy_(handle_);  // the three descriptors live as long as the process
}

void CudnnConvolution::describe(const DynamicLibrary& library, const ConvolutionShape& shape) {
  const auto create = [&](const char* call, Descriptor& descriptor) {
    check(required<int(Descriptor*)>(library, call)(&descriptor), call);
  };
  using Four = int(Descriptor, int, int, int, int, int, int);
  create("cudnnCreateTensorDescriptor", tensor_);
  create("cudnnCreateFilterDescriptor", filter_);
  create("cudnnCreateConvolutionDescriptor", convolution_);
  check(required<Four>(library, "cudnnSetTensor4dDescriptor")(
            tensor_, nchw, float32, shape.batch, shape.channels, shape.size, shape.size),
        "cudnnSetTensor4dDescriptor");
  check(required<Four>(library, "cudnnSetFilter4dDescriptor")(
            filter_, float32, nchw, shape.channels, shape.channels, shape.kernel, shape.kernel),
        "cudnnSetFilter4dDescriptor");
  const int padding = shape.kernel / 2;
  check(required<int(Descriptor, int, int, int, int, int, int, int, int)>(
            library, "cudnnSetConvolution2dDescriptor")(convolution_, padding, padding, 1, 1, 1, 1,
                                                        cross_correlation, float32),
        "cudnnSetConvolution2dDescriptor");
}

void CudnnConvolution::choose(const DynamicLibrary& library) {
  AlgorithmPerformance best{};
  int returned = 0;
  check(required<int(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, int*,
                     AlgorithmPerformance*)>(library, "cudnnGetConvolutionForwardAlgorithm_v7")(
            handle_, tensor_, filter_, convolution_, tensor_, 1, &returned, &best),
        "cudnnGetConvolutionForwardAlgorithm_v7");
  if (returned < 1 || best.status != success) throw DeviceError("cuDNN has no algorithm for this");
  algorithm_ = best.algorithm;
  std::size_t bytes = 0;
  check(required<int(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, std::size_t*)>(
            library, "cudnnGetConvolutionForwardWorkspaceSize")(
            handle_, tensor_, filter_, convolution_, tensor_, algorithm_, &bytes),
        "cudnnGetConvolutionForwardWorkspaceSize");
  if (bytes > 0) workspace_ = DeviceArray<char>(bytes);
}

void CudnnConvolution::launch(cudaStream_t stream, const float* input, const float* filter,
                              float* output) {
  const float one = 1;
  const float zero = 0;
  check(set_stream_(handle_, stream), "cudnnSetStream");
  check(forward_(handle_, &one, tensor_, input, filter_, filter, convolution_, algorithm_,
                 workspace_.data(), workspace_.bytes(), &zero, tensor_, output),
        "cudnnConvolutionForward");
}

}  // namespace gradwire::calibration
