#include "sim/report/work_columns.hpp"

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"

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

}  // namespace gradwire
