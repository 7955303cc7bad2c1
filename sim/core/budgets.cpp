#include "sim/core/budgets.hpp"

#include <fmt/format.h>

#include <array>

namespace gradwire {

std::span<const Budget> input_budgets() {
  static constexpr std::array all = {
      yaml_bytes,        json_bytes,          table_bytes,          log_bytes,
      topology_bytes,    trace_bytes,         unzipped_bytes,       unzipped_ratio,
      yaml_values,       yaml_copied_bytes,   yaml_depth,           yaml_keys,
      json_depth,        string_bytes,        trace_rows,           trace_nodes,
      trace_depth,       sqlite_seconds,      sqlite_checked_bytes, sqlite_value_bytes,
      symbol_bytes,      demangled_bytes,     demangler_bytes,      matrix_devices,
      topology_elements, misspelt_name_bytes, sweep_values,         sweep_combinations};
  return all;
}

std::string over(const Budget& budget) {
  return fmt::format("more than {} {} (limit {}: {})", budget.most, budget.unit, budget.name,
                     budget.of);
}

}  // namespace gradwire
