#include <fmt/format.h>

#include <cstddef>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/benchmark_lines.hpp"

namespace gradwire {

std::string horovod_lines(const Point& point) {
  const BenchmarkRates rates = benchmark_rates(point.result);
  const int gpus = point.result.world_size;
  std::string text = plain_format(
      "Model: {}\nBatch size: {}\nNumber of GPUs: {}\nRunning warmup...\nRunning benchmark...\n",
      point.model, point.result.batch_per_gpu, gpus);
  for (std::size_t i = 0; i < rates.rates.size(); ++i) {
    text += plain_format("Iter #{}: {:.1f} img/sec per GPU\n", i, rates.rates[i]);
  }
  return text + plain_format(
                    "Img/sec per GPU: {:.1f} +-{:.1f}\n"
                    "Total img/sec on {} GPU(s): {:.1f} +-{:.1f}\n",
                    rates.mean, rates.confidence, gpus, gpus * rates.mean, gpus * rates.confidence);
}

}  // namespace gradwire
