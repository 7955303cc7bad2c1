#include "calibration/import/kineto_event.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "calibration/import/decimal_time.hpp"

namespace gradwire::calibration {
namespace {

namespace ondemand = simdjson::ondemand;

KinetoCategory category_of(std::string_view name) {
  struct Entry {
    std::string_view name;
    KinetoCategory category;
  };
  // Those with capitals are PyTorch 1.8.1's.
  static constexpr std::array<Entry, 13> entries = {{{"cpu_op", KinetoCategory::host},
                                                     {"Operator", KinetoCategory::host},
                                                     {"user_annotation", KinetoCategory::host},
                                                     {"python_function", KinetoCategory::host},
                                                     {"cuda_runtime", KinetoCategory::call},
                                                     {"Runtime", KinetoCategory::call},
                                                     {"cuda_driver", KinetoCategory::call},
                                                     {"kernel", KinetoCategory::kernel},
                                                     {"Kernel", KinetoCategory::kernel},
                                                     {"gpu_memcpy", KinetoCategory::copy},
                                                     {"Memcpy", KinetoCategory::copy},
                                                     {"gpu_memset", KinetoCategory::memset},
                                                     {"Memset", KinetoCategory::memset}}};
  const auto* const entry = std::ranges::find(entries, name, &Entry::name);
  return entry == entries.end() ? KinetoCategory::skipped : entry->category;
}

void read_time(ondemand::value& value, std::optional<Nanoseconds>& time) {
  time = nanoseconds_of(json_token(value));
}

/// Blocks of a grid "[8, 1, 1]".
std::uint32_t grid_blocks(std::string_view text) {
  std::uint64_t blocks = 1;
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t side = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), side);
    if (error == std::errc{}) {
      blocks = std::min<std::uint64_t>(blocks * side, std::numeric_limits<std::uint32_t>::max());
      any = true;
      i = static_cast<std::size_t>(end - text.data());
    } else {
      ++i;
    }
  }
  return any ? static_cast<std::uint32_t>(blocks) : 0;
}

void read_argument(std::string_view key, ondemand::value& value, KinetoEvent& event) {
  if (is_composite(value)) {
    const bool shapes = key == "Input Dims" || key == "Input dims";
    ondemand::array list;
    if ((!shapes && key != "grid") || value.get_array().get(list) != simdjson::SUCCESS) return;
    const std::string_view text = list.raw_json();
    if (shapes) {
      event.shapes = text;
    } else {
      event.blocks = grid_blocks(text);
    }
    return;
  }
  if (key == "correlation") take_json_number(value, event.correlation);
  if (key == "External id" || key == "external id") take_json_number(value, event.external);
  if (key == "Sequence number") take_json_number(value, event.sequence);
  if (key == "stream") take_json_number(value, event.stream);
  if (key == "device") take_json_number(value, event.device);
  if (key == "bytes") take_json_number(value, event.bytes);
  if (key == "Collective name") event.operation = json_token(value);
  if (key == "In msg nelems" || key == "In msg size") take_json_number(value, event.elements);
  if (key == "dtype") event.dtype = json_token(value);
  if (key == "Group size") take_json_number(value, event.group);
}

void read_member(std::string_view key, ondemand::value& value, KinetoEvent& event) {
  if (key == "ph") event.complete = json_token(value) == "X";
  if (key == "cat") {
    event.domain = json_token(value);
    event.category = category_of(event.domain);
  }
  // Kineto writes names without quotes to escape; what is escaped stays so, and stays distinct.
  if (key == "name") event.name = json_token(value);
  if (key == "tid") event.thread = json_token(value);
  if (key == "ts") read_time(value, event.start);
  if (key == "dur") read_time(value, event.duration);
}

}  // namespace

bool is_composite(simdjson::ondemand::value& value) {
  const simdjson::ondemand::json_type type = value.type();
  return type == simdjson::ondemand::json_type::array ||
         type == simdjson::ondemand::json_type::object;
}

std::string_view json_token(simdjson::ondemand::value& value) {
  std::string_view text = value.raw_json_token();
  while (!text.empty() && std::string_view(" \n\r\t").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

KinetoEvent read_kineto_event(simdjson::ondemand::object object) {
  KinetoEvent event;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    ondemand::value member = field.value();
    if (key == "args" && member.type() == ondemand::json_type::object) {
      // A category that is passed over has no argument that counts.
      if (event.category == KinetoCategory::skipped && !event.domain.empty()) continue;
      for (auto argument : member.get_object()) {
        const std::string_view name = argument.unescaped_key();
        ondemand::value value = argument.value();
        read_argument(name, value, event);
      }
    } else if (!is_composite(member)) {
      read_member(key, member, event);
    }
  }
  return event;
}

}  // namespace gradwire::calibration
