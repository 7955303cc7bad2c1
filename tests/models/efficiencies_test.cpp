#include "sim/models/efficiencies.hpp"

#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// 1 TFLOP/s, 100 GB/s of which 80 % are reachable, 2 us a kernel.
GpuSpec made_up() {
  GpuSpec gpu;
  gpu.name = "made-up";
  gpu.memory_bandwidth = BytesPerSecond{100e9};
  gpu.memory_efficiency = 0.8;
  gpu.kernel_overhead = Seconds{2e-6};
  gpu.peak_flops = {{"fp32", 1e12}};
  gpu.efficiency["fp32"] = {{"conv3", {{0.5, 0.8}, {0.4, 0}}}, {"act", {{0, 0.5}, {0, 1}}}};
  return gpu;
}

ModelLayer convolution(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                       std::int64_t groups) {
  ModelLayer layer;
  layer.convolution = ConvolutionShape{.in_channels = in,
                                       .out_channels = 64,
                                       .kernel_height = kernel,
                                       .kernel_width = kernel,
                                       .stride = stride,
                                       .groups = groups,
                                       .out_height = 8,
                                       .out_width = 8};
  return layer;
}

}  // namespace

TEST_CASE("a kernel's time adds launches, arithmetic and traffic", "[models][efficiencies]") {
  // 2 us + 1e9 / (1e12 x 0.5) + 8e6 / (80e9 x 0.8) = 2 us + 2 ms + 125 us
  const KernelWork work{.work_class = "conv3", .flops = 1e9, .bytes = 8e6, .kernels = 1};
  CHECK(kernel_time(work, made_up(), "fp32", Direction::forward).count() == Approx(2.127e-3));
  // backward hides the traffic: 2 us + 1e9 / (1e12 x 0.4)
  CHECK(kernel_time(work, made_up(), "fp32", Direction::backward).count() == Approx(2.502e-3));
  // 3 x 2 us + 8e6 / (80e9 x 0.5), the arithmetic of an activation counts nothing
  CHECK(kernel_time({.work_class = "act", .flops = 1e9, .bytes = 8e6, .kernels = 3}, made_up(),
                    "fp32", Direction::forward)
            .count() == Approx(206e-6));
}

TEST_CASE("a batch norm of few channels waits for the blocks that read them",
          "[models][efficiencies]") {
  GpuSpec gpu = made_up();
  const Efficiency shares{.flops = 0, .memory = 0.5, .channel = BytesPerSecond{1e9}};
  gpu.efficiency["fp32"]["batch_norm"] = {shares, shares};
  const auto time = [&](double channels) {
    return kernel_time({.work_class = "batch_norm", .bytes = 8e6, .channels = channels}, gpu,
                       "fp32", Direction::forward)
        .count();
  };
  // 2 us + 8e6 / (80e9 x 0.5) = 202 us, and 8e6 / 64 at 1 GB/s = 125 us; of 512 channels an eighth
  CHECK(time(64) == Approx(327e-6));
  CHECK(time(512) == Approx(217.625e-6));
}

TEST_CASE("a class without shares of its own takes those of the broader one",
          "[models][efficiencies]") {
  GpuSpec gpu = made_up();
  gpu.efficiency["fp32"]["linear"] = {{0.5, 0}, {0.5, 0}};
  gpu.efficiency["fp32"]["linear_by_2"] = {{0.1, 0}, {0.1, 0}};
  const auto time = [&](std::string_view work_class) {
    return kernel_time({.work_class = work_class, .flops = 1e9, .kernels = 0}, gpu, "fp32",
                       Direction::forward)
        .count();
  };
  CHECK(time("linear_by_4") == Approx(2e-3));  // 1e9 / (1e12 x 0.5)
  CHECK(time("linear_by_2") == Approx(10e-3));
}

TEST_CASE("hidden traffic is still bound by the memory", "[models][efficiencies]") {
  // 80e6 B at 80 GB/s is 1 ms; 1e6 FLOP would take 2.5 us
  const KernelWork work{.work_class = "conv3", .flops = 1e6, .bytes = 80e6, .kernels = 0};
  CHECK(kernel_time(work, made_up(), "fp32", Direction::backward).count() == Approx(1e-3));
}

TEST_CASE("tensors that keep their layout pay no layout kernels", "[models][efficiencies]") {
  // 1e9 / (1e12 x 0.5) + 8e6 / (80e9 x 1) = 2 ms + 100 us
  const KernelWork work{.work_class = "conv3_nhwc", .flops = 1e9, .bytes = 8e6, .kernels = 0};
  CHECK(kernel_time(work, made_up(), "fp32", Direction::forward).count() == Approx(2.1e-3));
}

TEST_CASE("tf32 is fp32 where there are no tensor cores", "[models][efficiencies]") {
  const GpuSpec gpu = made_up();
  CHECK(executed_dtype(gpu, "tf32") == "fp32");
  CHECK(supports(gpu, "tf32"));
  CHECK_FALSE(supports(gpu, "bf16"));
}

TEST_CASE("a layer's class follows its shape", "[models][efficiencies]") {
  CHECK(work_class(convolution(64, 3, 1, 1)) == "conv3");
  CHECK(work_class(convolution(64, 3, 2, 1)) == "conv3_strided");
  CHECK(work_class(convolution(64, 1, 2, 1)) == "conv1");
  CHECK(work_class(convolution(64, 5, 1, 1)) == "conv_wide");
  CHECK(work_class(convolution(3, 3, 1, 1)) == "stem");
  CHECK(work_class(convolution(64, 3, 1, 32)) == "grouped_conv");
  CHECK(work_class(convolution(64, 3, 1, 64)) == "depthwise_conv");
  ModelLayer product;
  product.product = MatrixShape{.rows = 8, .columns = 8, .depth = 8};
  CHECK(work_class(product) == "linear");
  product.product->weight_operand = false;
  CHECK(work_class(product) == "attention");
}

TEST_CASE("TF32 is a permission: fp32's kernels stay where they compute faster",
          "[models][efficiencies]") {
  GpuSpec gpu = made_up();
  gpu.peak_flops["tf32"] = 2e12;
  gpu.efficiency["fp32"]["stem"] = {{0.9, 0}, {0.9, 0}};
  gpu.efficiency["tf32"]["stem"] = {{0.2, 0}, {0.6, 0}};
  const auto seconds = [&](const char* work_class, const char* asked, Direction direction) {
    const auto time_in = [&](const std::string& dtype) {
      return kernel_time({.work_class = work_class, .flops = 1e9, .kernels = 0}, gpu, dtype,
                         direction);
    };
    return fastest_permitted(work_class, gpu, asked, direction, time_in).count();
  };
  // forward 1e9 / (1e12 x 0.9), as 2e12 x 0.2 is less; backward 1e9 / (2e12 x 0.6)
  CHECK(seconds("stem", "tf32", Direction::forward) == Approx(1e-3 / 0.9));
  CHECK(seconds("stem", "tf32", Direction::backward) == Approx(1e-3 / 1.2));
  CHECK(seconds("stem", "fp32", Direction::backward) == Approx(1e-3 / 0.9));

  // fused attention is one kernel in both: 1e9 / (2e12 x 0.1), until fp32's table tells it
  gpu.efficiency["fp32"]["attention"] = {{0.8, 0}, {0.8, 0}};
  gpu.efficiency["tf32"]["flash_attention"] = {{0.1, 0}, {0.1, 0}};
  CHECK(seconds("flash_attention", "tf32", Direction::forward) == Approx(5e-3));
  CHECK(seconds("flash_attention", "fp32", Direction::forward) == Approx(5e-3));
  gpu.efficiency["fp32"]["flash_attention"] = {{0.5, 0}, {0.5, 0}};
  CHECK(seconds("flash_attention", "fp32", Direction::forward) == Approx(2e-3));
}
