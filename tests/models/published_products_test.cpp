#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/cluster/gpu_yaml.hpp"
#include "sim/models/efficiencies.hpp"
#include "tests/catch.hpp"

using namespace gradwire;

namespace {

/// A line of results/reference/products.csv.
struct Published {
  GpuSpec gpu;
  std::string dtype;
  double size = 0;  ///< rows, columns and depth
  double rate = 0;  ///< FLOP/s
  std::string role;
};

std::vector<Published> published_products() {
  std::ifstream file(GRADWIRE_SOURCE_DIR "/results/reference/products.csv");
  std::vector<Published> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("gpu,")) continue;
    std::ranges::replace(line, ',', ' ');
    std::istringstream fields(line);
    std::string name;
    Published row;
    fields >> name >> row.dtype >> row.size >> row.rate >> row.role;
    row.gpu = config::shipped_gpu(name, {});
    row.rate *= 1e12;
    rows.push_back(row);
  }
  return rows;
}

/// Logarithm of the predicted rate over the published one.
double miss(const Published& row) {
  const auto side = static_cast<std::int64_t>(row.size);
  const double operations = 2 * row.size * row.size * row.size;
  const KernelWork work = {.work_class = "linear",
                           .flops = operations,
                           .bytes = 3 * row.size * row.size * activation_bytes(row.dtype),
                           .plans = {{.products = {{side, side, side}}}}};
  const Seconds time = kernel_time(work, row.gpu, row.dtype, Direction::forward);
  return std::log(operations / time.count() / row.rate);
}

std::vector<double> misses(const std::string& role) {
  std::vector<double> result;
  for (const Published& row : published_products()) {
    if (row.role == role) result.push_back(miss(row));
  }
  REQUIRE(!result.empty());
  return result;
}

double rms(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("products on boards with little power take what their owners published",
          "[models][analytic]") {
  CHECK(rms(misses("fit")) < 0.08);  // 21 % by the cube root of the power alone
  CHECK(rms(misses("share")) < 0.01);
  std::vector<double> checks = misses("check");
  for (double& value : checks) value = std::abs(value);
  std::ranges::sort(checks);
  CHECK(checks.at(checks.size() / 2) < 0.125);
  CHECK(checks.at(checks.size() * 9 / 10) < 0.225);
}

TEST_CASE("the power that does not go with the clock is the best fit to published products",
          "[models][analytic]") {
  const auto rms_with = [](double fixed) {
    std::vector<double> values;
    for (Published& row : published_products()) {
      if (row.role != "fit") continue;
      row.gpu.kernels.fixed_power = fixed;
      values.push_back(miss(row));
    }
    return rms(values);
  };
  const double given = config::shipped_gpu("t4", {}).kernels.fixed_power;
  for (const double off : {-0.03, 0.03}) CHECK(rms_with(given + off) > rms_with(given));
}
