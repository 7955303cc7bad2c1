#include "sim/validation/collectives_gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace gradwire::validation {
namespace {

using config::MeasuredCollective;

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double small_below = 256.0 * 1024.0;
constexpr double large_from = 8 * mebibyte;
constexpr double fitted_from = mebibyte;
constexpr double gloo_all_reduce_from = 4 * mebibyte;
constexpr double gloo_other_from = mebibyte;

constexpr double limit_large = 0.12;
constexpr double limit_small = 0.35;
constexpr double limit_between = 1.6;  ///< a factor
constexpr double limit_sizes_mean = 0.03;
constexpr double limit_sizes_p90 = 0.08;
constexpr double limit_ranks_mean = 0.08;
constexpr double limit_ranks_worst = 0.25;
constexpr double limit_choices = 0.01;
constexpr double limit_gloo_all_reduce = 0.03;
constexpr double limit_gloo_other = 0.10;
constexpr double limit_mpi = 0.12;

using Chosen = std::function<bool(const Row&)>;

Chosen scored(const std::string& gate, double from, double below) {
  return [=](const Row& row) {
    return row.gate == gate && row.role == "score" && row.bytes >= from && row.bytes < below;
  };
}

constexpr double no_end = 1e300;

/// A gate on one figure of the rows that `chosen` takes.
Gate error_gate(std::span<const Row> rows, const Chosen& chosen, std::string name,
                double Errors::*figure, double limit) {
  const Errors errors = errors_of(rows, chosen);
  Gate gate{.name = std::move(name),
            .figure = errors.*figure,
            .limit = limit,
            .unit = "%",
            .known = errors.rows > 0 && errors.failed == 0,
            .note = fmt::format("{} rows", errors.rows - errors.failed)};
  if (errors.failed > 0) gate.note += fmt::format(", {} not predicted", errors.failed);
  return gate;
}

/// How many tables keep within the limit by themselves.
std::string tables_note(std::span<const Row> rows, const Chosen& chosen,
                        const std::function<bool(const Errors&)>& keeps) {
  std::set<std::string> groups;
  for (const Row& row : rows) {
    if (chosen(row) && row.failure.empty()) groups.insert(row.group);
  }
  const auto kept = std::ranges::count_if(groups, [&](const std::string& group) {
    return keeps(
        errors_of(rows, [&](const Row& row) { return chosen(row) && row.group == group; }));
  });
  return fmt::format("; {} of {} tables by themselves", kept, groups.size());
}

Gate median_gate(std::span<const Row> rows, const Chosen& chosen, std::string name, double limit) {
  Gate gate = error_gate(rows, chosen, std::move(name), &Errors::median, limit);
  gate.note +=
      tables_note(rows, chosen, [&](const Errors& errors) { return errors.median <= limit; });
  return gate;
}

/// The largest factor between prediction and measurement.
Gate factor_gate(std::span<const Row> rows, const Chosen& chosen) {
  Gate gate{.name = "(a) worst factor from 256 KiB to 8 MiB", .limit = limit_between, .unit = "x"};
  std::size_t inside = 0;
  std::size_t count = 0;
  for (const Row& row : rows) {
    if (!chosen(row) || !row.failure.empty()) continue;
    ++count;
    inside += row.factor() <= limit_between ? 1U : 0U;
    gate.figure = std::max(gate.figure, row.factor());
  }
  gate.known = count > 0;
  gate.note = fmt::format("{} of {} rows are within", inside, count);
  return gate;
}

Gate choice_gate(std::span<const Row> rows) {
  const Chosen chosen = scored("d", 0, no_end);
  Gate gate{.name = "(d) NCCL's printed choices", .least = true};
  for (const Row& row : rows) {
    if (!chosen(row)) continue;
    gate.limit += 1;
    gate.figure += row.failure.empty() && !row.other_choice ? 1 : 0;
  }
  gate.known = gate.limit > 0;
  return gate;
}

/// The gate of part (e) that a table belongs to.
std::string gate_of(const MeasuredCollective& table) {
  if (table.library_name == "mpi") return "e mpi";
  return table.series.op == CollectiveKind::all_reduce ? "e gloo all_reduce" : "e gloo other";
}

void limit_row(const MeasuredCollective& table, const std::string& part, Row& row) {
  row.gate = part == "e" ? gate_of(table) : part;
  if (part == "a") {
    if (row.bytes >= large_from) row.limit = limit_large;
    if (row.bytes < small_below) row.limit = limit_small;
    if (row.limit == 0) row.limit_factor = limit_between;
  }
  if (part == "b" && row.bytes >= fitted_from) row.limit = limit_sizes_p90;
  if (part == "c" && row.bytes >= fitted_from) row.limit = limit_ranks_worst;
  if (part == "d") row.limit = limit_choices;
  if (row.gate == "e gloo all_reduce" && row.bytes >= gloo_all_reduce_from) {
    row.limit = limit_gloo_all_reduce;
  }
  if (row.gate == "e gloo other" && row.bytes >= gloo_other_from) row.limit = limit_gloo_other;
  if (row.gate == "e mpi") row.limit = limit_mpi;
}

}  // namespace

void give_limits(const MeasuredCollective& table, const std::string& part, std::vector<Row>& rows) {
  for (Row& row : rows) {
    if (row.role != "show") limit_row(table, part, row);
  }
}

std::vector<Gate> collective_gates(std::span<const Row> rows) {
  const Chosen sizes = scored("b", fitted_from, no_end);
  const Chosen ranks = scored("c", fitted_from, no_end);
  std::vector<Gate> gates = {
      median_gate(rows, scored("a", large_from, no_end), "(a) median from 8 MiB up", limit_large),
      median_gate(rows, scored("a", 0, small_below), "(a) median below 256 KiB", limit_small),
      // NOLINTNEXTLINE(readability-suspicious-call-argument): from where small ends
      factor_gate(rows, scored("a", small_below, large_from)),
      error_gate(rows, sizes, "(b) mean, other sizes from 1 MiB up", &Errors::mean,
                 limit_sizes_mean),
      error_gate(rows, sizes, "(b) p90, other sizes from 1 MiB up", &Errors::p90, limit_sizes_p90),
      error_gate(rows, ranks, "(c) mean, larger rank counts from 1 MiB up", &Errors::mean,
                 limit_ranks_mean),
      error_gate(rows, ranks, "(c) worst, larger rank counts from 1 MiB up", &Errors::worst,
                 limit_ranks_worst),
      choice_gate(rows),
      error_gate(rows, scored("d", 0, no_end), "(d) worst of NCCL's printed times", &Errors::worst,
                 limit_choices),
      error_gate(rows, scored("e gloo all_reduce", gloo_all_reduce_from, no_end),
                 "(e) worst, Gloo's all-reduce from 4 MiB up", &Errors::worst,
                 limit_gloo_all_reduce),
      error_gate(rows, scored("e gloo other", gloo_other_from, no_end),
                 "(e) worst, Gloo's others from 1 MiB up", &Errors::worst, limit_gloo_other),
      error_gate(rows, scored("e mpi", fitted_from, no_end), "(e) worst, Open MPI from 1 MiB up",
                 &Errors::worst, limit_mpi),
      error_gate(rows, scored("e mpi", 0, no_end), "(e) median, Open MPI at all sizes",
                 &Errors::median, limit_mpi),
  };
  return gates;
}

}  // namespace gradwire::validation
