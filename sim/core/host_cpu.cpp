#include "sim/core/host_cpu.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {

double cpu_sum_slowdown(Bytes size) {
  constexpr double most = cpu_sum_rate / cpu_sum_rate_memory;
  const auto log_size = [](Bytes bytes) { return std::log(static_cast<double>(bytes.count())); };
  const double first = log_size(cpu_sum_cached_up_to);
  const double between = (log_size(std::max(size, cpu_sum_cached_up_to)) - first) /
                         (log_size(cpu_sum_memory_from) - first);
  return std::pow(most, std::min(between, 1.0));
}

}  // namespace gradwire
