#include "calibration/capture/bench/compute.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/capture/bench/cublas_api.hpp"
#include "calibration/capture/bench/cudnn_api.hpp"
#include "calibration/capture/bench/hash.hpp"

namespace gradwire::calibration {
namespace {

constexpr int checked_points = 64;
/// TF32 has 10 bits of mantissa: a product is off by up to 2^-10, sums of many by less of their
/// spread. Held to 2 % of the root mean square of what is summed.
constexpr double tf32_tolerance = 0.02;

std::vector<float> uniform_values(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = uniform(static_cast<std::uint32_t>(i), seed) - 0.5F;
  }
  return values;
}

/// "" when a sum of products is right; `squares` is the sum of the products' squares.
std::string compare_sum(double value, double expected, double squares) {
  if (std::fabs(value - expected) <= tf32_tolerance * std::sqrt(squares)) return {};
  return "a sum is " + std::to_string(value) + ", expected " + std::to_string(expected);
}

/// A fully connected layer: cuBLAS, TF32, 4096 x 4096 x 4096.
class Gemm final : public Compute {
 public:
  Gemm() : a_(count), b_(count), c_(count) {
    a_.store(uniform_values(count, 1));
    b_.store(uniform_values(count, 2));
  }
  void launch(cudaStream_t stream) override {
    cublas_.multiply(stream, side, a_.data(), b_.data(), c_.data());
  }
  std::string check() override {
    const Stream stream;
    launch(stream.get());
    stream.wait();
    const std::vector<float> a = a_.fetch();
    const std::vector<float> b = b_.fetch();
    const std::vector<float> c = c_.fetch();
    for (std::uint32_t point = 0; point < checked_points; ++point) {
      const std::size_t row = mixed(point) % side;
      const std::size_t column = mixed(point + checked_points) % side;
      double sum = 0;
      double squares = 0;
      for (std::size_t k = 0; k < side; ++k) {
        const double product = static_cast<double>(a[k * side + row]) * b[column * side + k];
        sum += product;
        squares += product * product;
      }
      std::string wrong = compare_sum(c[column * side + row], sum, squares);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  static constexpr int side = 4096;
  static constexpr std::size_t count = std::size_t{side} * side;
  DeviceArray<float> a_;
  DeviceArray<float> b_;
  DeviceArray<float> c_;
  Cublas cublas_;
};

/// A convolution of ResNet-50's second stage's size, batch 64.
class Convolution final : public Compute {
 public:
  explicit Convolution(const ConvolutionShape& shape)
      : shape_(shape),
        images_(at(shape.batch, 0, 0, 0)),
        filter_elements_(static_cast<std::size_t>(shape.channels) *
                         static_cast<std::size_t>(shape.channels * shape.kernel * shape.kernel)),
        input_(images_),
        filter_(filter_elements_),
        output_(images_),
        convolution_(shape) {
    input_.store(uniform_values(images_, 3));
    filter_.store(uniform_values(filter_elements_, 4));
  }
  void launch(cudaStream_t stream) override {
    convolution_.launch(stream, input_.data(), filter_.data(), output_.data());
  }
  std::string check() override {
    const Stream stream;
    launch(stream.get());
    stream.wait();
    const std::vector<float> input = input_.fetch();
    const std::vector<float> filter = filter_.fetch();
    const std::vector<float> output = output_.fetch();
    const auto pick = [](std::uint32_t draw, int below) {
      return static_cast<int>(mixed(draw) % static_cast<std::uint32_t>(below));
    };
    for (std::uint32_t point = 0; point < checked_points; ++point) {
      const int image = pick(4 * point, shape_.batch);
      const int channel = pick(4 * point + 1, shape_.channels);
      const int y = pick(4 * point + 2, shape_.size);
      const int x = pick(4 * point + 3, shape_.size);
      std::string wrong =
          check_point(input, filter, output[at(image, channel, y, x)], image, channel, y, x);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t at(int image, int channel, int y, int x) const {
    return ((static_cast<std::size_t>(image) * static_cast<std::size_t>(shape_.channels) +
             static_cast<std::size_t>(channel)) *
                static_cast<std::size_t>(shape_.size) +
            static_cast<std::size_t>(y)) *
               static_cast<std::size_t>(shape_.size) +
           static_cast<std::size_t>(x);
  }
  [[nodiscard]] std::string check_point(const std::vector<float>& input,
                                        const std::vector<float>& filter, float value, int image,
                                        int channel, int y, int x) const {
    const int half = shape_.kernel / 2;
    double sum = 0;
    double squares = 0;
    std::size_t weight = static_cast<std::size_t>(channel) * filter_elements_ /
                         static_cast<std::size_t>(shape_.channels);
    for (int from = 0; from < shape_.channels; ++from) {
      for (int dy = -half; dy <= half; ++dy) {
        for (int dx = -half; dx <= half; ++dx, ++weight) {
          if (std::clamp(y + dy, 0, shape_.size - 1) != y + dy ||
              std::clamp(x + dx, 0, shape_.size - 1) != x + dx) {
            continue;  // padding
          }
          const double product =
              static_cast<double>(filter[weight]) * input[at(image, from, y + dy, x + dx)];
          sum += product;
          squares += product * product;
        }
      }
    }
    return compare_sum(static_cast<double>(value), sum, squares);
  }

  ConvolutionShape shape_;
  std::size_t images_;
  std::size_t filter_elements_;
  DeviceArray<float> input_;
  DeviceArray<float> filter_;
  DeviceArray<float> output_;
  CudnnConvolution convolution_;
};

}  // namespace

const std::vector<std::string>& compute_kinds() {
  static const std::vector<std::string> kinds = {"linear", "conv1", "conv3", "norm", "act"};
  return kinds;
}

std::string compute_description(const std::string& kind) {
  if (kind == "linear") return "cuBLAS TF32 GEMM 4096 x 4096 x 4096";
  if (kind == "conv1") return "cuDNN convolution 1x1, 256 channels, 56 x 56, batch 64";
  if (kind == "conv3") return "cuDNN convolution 3x3, 64 channels, 56 x 56, batch 64";
  if (kind == "norm") return "batch norm in training, forward, 256 channels, 56 x 56, batch 64";
  return "relu over 64 Mi floats";
}

std::unique_ptr<Compute> make_compute(const std::string& kind) {
  if (kind == "linear") return std::make_unique<Gemm>();
  if (kind == "conv1") return std::make_unique<Convolution>(ConvolutionShape{64, 256, 56, 1});
  if (kind == "conv3") return std::make_unique<Convolution>(ConvolutionShape{64, 64, 56, 3});
  if (kind == "norm") return make_normalise();
  return make_elementwise();
}

}  // namespace gradwire::calibration
