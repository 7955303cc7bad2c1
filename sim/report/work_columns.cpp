#include "sim/report/work_columns.hpp"

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/report/metrics.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void WorkColumns::add(const Json& result) {
  shown_ = shown_ || result.contains("tokens_per_s_per_gpu");
}

std::string WorkColumns::head() const {
  return shown_ ? plain_format("{:>14}{:>8}{:>12}", "tokens/s/GPU", "MFU", "memory") : "";
}

std::string WorkColumns::line(const Json& result) const {
  if (!shown_) return "";
  const auto cell = [&](const char* key, double scale, const char* unit) -> std::string {
    const auto found = result.find(key);
    return found == result.end() ? "-"
                                 : plain_format("{:.1f}{}", scale * found->get<double>(), unit);
  };
  const auto memory = result.find("memory_bytes");
  return plain_format(
      "{:>14}{:>8}{:>12}", cell("tokens_per_s_per_gpu", 1, ""), cell("mfu", 100, " %"),
      memory == result.end() ? "-" : readable_bytes(memory->at("peak").get<double>()));
}

std::optional<EfficiencyOverFewest> efficiency_over_fewest(const Point& point,
                                                           std::span<const Point> points) {
  if (point.result.one_gpu_fits) return std::nullopt;
  const Point* fewest = &point;
  for (const Point& other : points) {
    const bool alike = other.model == point.model && other.strategy == point.strategy &&
                       other.result.batch_per_gpu == point.result.batch_per_gpu &&
                       other.result.framework == point.result.framework;
    if (alike && other.result.world_size < fewest->result.world_size) fewest = &other;
  }
  const double own = metrics_of(point.result).throughput_per_gpu;
  const double theirs = metrics_of(fewest->result).throughput_per_gpu;
  return EfficiencyOverFewest{fewest->result.world_size, own / theirs};
}

}  // namespace gradwire
