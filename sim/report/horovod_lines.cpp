#include "sim/core/outgoing_text.hpp"
#include "sim/report/benchmark_lines.hpp"

namespace gradwire {

std::string horovod_lines(const Point& point) {
  return plain_format(
             "Model: {}\nBatch size: {}\nNumber of GPUs: {}\n"
             "Running warmup...\nRunning benchmark...\n",
             point.model, point.result.batch_per_gpu, point.result.world_size) +
         rate_lines(point, image_words);
}

}  // namespace gradwire
