#include "sim/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

/// A name in lower case, and where its words begin: ways to write a name differ in its case, and in
/// dashes, underscores, points and blanks.
struct Folded {
  explicit Folded(std::string_view name) {
    bool begins = true;
    for (const char letter : name) {
      if (std::string_view("-_. ").find(letter) != std::string_view::npos) {
        begins = true;
        continue;
      }
      if (begins) words.push_back(text.size());
      begins = false;
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  /// Whether it has more words than those of `shorter`, with which it begins.
  [[nodiscard]] bool goes_on_from(const Folded& shorter) const {
    return !shorter.text.empty() && text.starts_with(shorter.text) &&
           std::ranges::find(words, shorter.text.size()) != words.end();
  }
  [[nodiscard]] std::string_view word(std::size_t index) const {
    const std::size_t end = index + 1 < words.size() ? words[index + 1] : text.size();
    return std::string_view(text).substr(words[index], end - words[index]);
  }
  [[nodiscard]] bool has_word(std::string_view wanted) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (word(i) == wanted) return true;
    }
    return false;
  }
  /// Whether each word of `other`, which has several, is in here, one behind the other.
  [[nodiscard]] bool has_words_of(const Folded& other) const {
    std::size_t from = 0;
    for (std::size_t i = 0; i < other.words.size(); ++i) {
      from = text.find(other.word(i), from);
      if (from == std::string::npos) return false;
      from += other.word(i).size();
    }
    return other.words.size() > 1;
  }

  std::string text;
  std::vector<std::size_t> words;
};

constexpr std::size_t telling = 3;  ///< letters: two say nothing

/// The shortest known name that `name` is a part of ("v100", "p3dn"), else the longest that is a
/// part of it ("pytorch_ddp", "Tesla T4"); "" where there is none.
std::string name_of_a_part(const Folded& name, std::span<const std::string> known) {
  std::string whole;
  std::string part;
  for (const std::string& candidate : known) {
    const Folded folded(candidate);
    if (name.text.size() >= telling && folded.text.find(name.text) != std::string::npos &&
        (whole.empty() || candidate.size() < whole.size())) {
      whole = candidate;
    }
    const bool is_part =
        (folded.text.size() >= telling && name.text.find(folded.text) != std::string::npos) ||
        name.has_word(folded.text);
    if (is_part && candidate.size() > part.size()) part = candidate;
  }
  return whole.empty() ? part : whole;
}

/// The longest known name that `name` goes on from ("p5.48xlarge" from "p5"); "" where there is
/// none.
std::string name_gone_on_from(const Folded& name, std::span<const std::string> known) {
  std::string longest;
  for (const std::string& candidate : known) {
    if (candidate.size() > longest.size() && name.goes_on_from(Folded(candidate))) {
      longest = candidate;
    }
  }
  return longest;
}

/// Names of which `fits` holds, as many as a message shows.
template <class Fits>
std::vector<std::string> first_of(std::span<const std::string> known, Fits fits) {
  constexpr std::size_t shown_most = 4;
  std::vector<std::string> found;
  for (const std::string& candidate : known) {
    if (found.size() < shown_most && fits(Folded(candidate))) found.push_back(candidate);
  }
  return found;
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
  const Folded wanted(name);
  if (wanted.text.empty()) return "";
  std::size_t best = std::numeric_limits<std::size_t>::max();
  std::string nearest;
  for (const auto& candidate : known) {
    if (candidate.size() > misspelt_name_bytes.most) continue;
    const std::size_t distance = wanted.text.size() < telling
                                     ? edit_distance(name, candidate)
                                     : edit_distance(wanted.text, Folded(candidate).text);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  constexpr std::size_t slips = 2;
  if (best > slips) {
    if (std::string begun = name_gone_on_from(wanted, known); !begun.empty()) return begun;
  }
  const std::size_t tolerated = std::max<std::size_t>(1, std::max(name.size(), nearest.size()) / 3);
  return best <= tolerated ? nearest : name_of_a_part(wanted, known);
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  std::vector<std::string> meant;
  if (name.size() <= misspelt_name_bytes.most) {
    const Folded wanted(name);
    meant = first_of(known, [&](const Folded& other) { return other.text == wanted.text; });
    if (meant.empty()) {  // "h100" of "h100-sxm5-80gb"
      meant = first_of(known, [&](const Folded& other) { return other.goes_on_from(wanted); });
    }
    if (meant.empty() && wanted.text.size() >= telling) {  // "h100-80gb"
      meant = first_of(known, [&](const Folded& other) { return other.has_words_of(wanted); });
    }
  }
  if (meant.size() > 1) return fmt::format("; did you mean one of {}?", joined_by(meant, ", "));
  const std::string nearest = meant.empty() ? nearest_name(name, known) : meant.front();
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace gradwire
