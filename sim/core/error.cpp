#include "sim/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/core/budgets.hpp"
#include "sim/core/joined_by.hpp"
#include "sim/core/outgoing_text.hpp"
#include "sim/core/plain_text.hpp"

namespace gradwire {
namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions, and swaps of
/// neighbours, so that 'bukcet' is one step from 'bucket'.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

/// The shortest known name that `name` is a part of ("v100", "p3dn"), else the longest that is a
/// part of it ("pytorch_ddp"); "" where there is none. Two letters say nothing.
std::string name_of_a_part(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t least = 3;
  std::string whole;
  std::string part;
  for (const std::string& candidate : known) {
    if (name.size() >= least && candidate.find(name) != std::string::npos &&
        (whole.empty() || candidate.size() < whole.size())) {
      whole = candidate;
    }
    if (candidate.size() >= std::max(least, part.size() + 1) &&
        name.find(candidate) != std::string_view::npos) {
      part = candidate;
    }
  }
  return whole.empty() ? part : whole;
}

/// The longest known name that `name` goes on from ("p5.48xlarge" from "p5"); "" where there is
/// none.
std::string name_gone_on_from(std::string_view name, std::span<const std::string> known) {
  std::string longest;
  for (const std::string& candidate : known) {
    const bool goes_on =
        name.size() > candidate.size() && name.starts_with(candidate) &&
        std::string_view(".-_").find(name[candidate.size()]) != std::string_view::npos;
    if (goes_on && candidate.size() > longest.size()) longest = candidate;
  }
  return longest;
}

}  // namespace

ConfigError::ConfigError(SourceLocation where, const std::string& message)
    : std::runtime_error(plain_text(where.line == 0
                                        ? fmt::format("{}: {}", where.file, shortened(message))
                                        : fmt::format("{}:{}:{}: {}", where.file, where.line,
                                                      where.column, shortened(message)))),
      where_(std::move(where)) {}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  if (name.size() > misspelt_name_bytes.most) return "";  // the distance costs length times length
  std::size_t best = std::numeric_limits<std::size_t>::max();
  std::string nearest;
  for (const auto& candidate : known) {
    if (candidate.size() > misspelt_name_bytes.most) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  constexpr std::size_t slips = 2;
  if (best > slips) {
    if (std::string begun = name_gone_on_from(name, known); !begun.empty()) return begun;
  }
  const std::size_t tolerated = std::max<std::size_t>(1, std::max(name.size(), nearest.size()) / 3);
  return best <= tolerated ? nearest : name_of_a_part(name, known);
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t shown_most = 4;
  std::vector<std::string> longer;  // "h100" of "h100-sxm5-80gb"
  for (const std::string& other : known) {
    const bool goes_on = !name.empty() && other.size() > name.size() && other.starts_with(name) &&
                         (other[name.size()] == '-' || other[name.size()] == '_');
    if (goes_on && longer.size() < shown_most) longer.push_back(other);
  }
  if (longer.size() > 1) return fmt::format("; did you mean one of {}?", joined_by(longer, ", "));
  if (longer.size() == 1) return fmt::format("; did you mean '{}'?", longer.front());
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace gradwire
