#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "sim/report/point.hpp"

namespace gradwire {

constexpr std::string_view result_schema = "gradwire.result/1";
constexpr std::string_view results_schema = "gradwire.results/1";

/// One prediction as gradwire.result/1; has a `label` when the point has one.
[[nodiscard]] nlohmann::ordered_json result_json(const Point& point);

/// Several as gradwire.results/1, in their order.
[[nodiscard]] nlohmann::ordered_json results_json(std::span<const Point> points);

}  // namespace gradwire
