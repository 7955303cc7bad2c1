#include "sim/report/acpsgd_lines.hpp"

#include <fmt/format.h>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/statistics.hpp"
#include "sim/report/benchmark_lines.hpp"

namespace gradwire {
namespace {

double mebibytes(Bytes size) {
  return static_cast<double>(size.count()) / (1024.0 * 1024.0);
}

double sum_of(const std::vector<Bytes>& buffers) {
  double sum = 0;
  for (const Bytes buffer : buffers) sum += mebibytes(buffer);
  return sum;
}

std::string buffer_line(std::string_view name, const std::vector<Bytes>& buffers) {
  std::string text = fmt::format("{} Buffer sizes (MB): ", name);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    text += fmt::format("{}{:.2f}", i == 0 ? "" : ", ", mebibytes(buffers[i]));
  }
  return text + '\n';
}

/// Seconds of a batch, of each ten.
std::string time_line(const Point& point) {
  std::vector<double> times;
  const double samples = point.result.batch_per_gpu * point.result.micro_batches;
  for (const double rate : benchmark_rates(point.result).rates) times.push_back(samples / rate);
  return fmt::format("Iteraction time: {:.3f} +-{:.3f}\n", mean(times), confidence_of(times));
}

}  // namespace

std::string acpsgd_memory_lines(const AcpsgdMemory& memory) {
  return fmt::format("Memory (MB) Grad: {:.2f}, P: {:.2f}, Q: {:.2f}\n",
                     mebibytes(memory.gradients), sum_of(memory.p), sum_of(memory.q)) +
         buffer_line("P", memory.p) + buffer_line("Q", memory.q);
}

std::string acpsgd_lines(const Point& point) {
  if (point.model.starts_with("bert")) return bert_lines(point, time_line(point));
  return plain_format(
             "Model: {}\nFP16: False\nBatch size: {}\nNumber of GPUs: {}\n"
             "Running warmup...\nRunning benchmark...\n",
             point.model, point.result.batch_per_gpu, point.result.world_size) +
         rate_lines(point, image_words, time_line(point));
}

std::string comm_time_lines(std::span<const FusionTimes> kinds) {
  std::string text;
  for (const FusionTimes& kind : kinds) {
    text += fmt::format(
        "# of {0}s: {1}, # of elements: {2}\nTime (ms) of {0}s: {3:.3f}, {0} buffer: {4:.3f}\n",
        kind.name, kind.tensors, kind.elements, 1e3 * kind.apart.count(), 1e3 * kind.fused.count());
  }
  return text;
}

}  // namespace gradwire
