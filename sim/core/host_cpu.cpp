#include "sim/core/host_cpu.hpp"

#include <algorithm>
#include <cmath>

namespace gradwire {

double HostCpu::sum_slowdown(Bytes size) const {
  const auto log_size = [](Bytes bytes) { return std::log(static_cast<double>(bytes.count())); };
  const double first = log_size(cached_up_to);
  const double between =
      (log_size(std::max(size, cached_up_to)) - first) / (log_size(memory_from) - first);
  return std::pow(sum_rate / sum_rate_memory, std::min(between, 1.0));
}

}  // namespace gradwire
