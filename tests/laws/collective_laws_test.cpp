#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "sim/cost/choice_warnings.hpp"
#include "tests/catch.hpp"
#include "tests/laws/collective_case.hpp"
#include "tests/laws/collective_exceptions.hpp"

namespace gradwire {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): our own helpers

/// What rounding of chunks, channels and messages may do to a time.
constexpr double tolerance = 0.02;

/// Why a trial breaks its law; "" where it holds it, absent where it says nothing.
struct Verdict {
  std::string why;
  CollectivePair pair;
  CollectivePrice worse;
  CollectivePrice better;
  bool is_exception = false;  ///< the library takes a slower way of its own
};

const std::string& fastest(const CollectivePrice& price) {
  return price.faster_way.empty() ? price.way : price.faster_way;
}

std::optional<Verdict> judge(const CollectiveTrial& trial) {
  static const std::vector<NamedChoice> named = named_choices();
  const auto pair = pair_of(trial);
  if (!pair) return std::nullopt;
  const auto worse = price_of(pair->worse);
  const auto better = price_of(pair->better);
  if (!worse || !better) return std::nullopt;
  // A tree over more machines cuts its chunks down (docs/collective_choices.md).
  if (trial.law == CollectiveLaw::more_machines && fastest(*worse) == "tree simple" &&
      fastest(*better) == "tree simple") {
    return std::nullopt;
  }
  Verdict verdict{"", *pair, *worse, *better, false};
  if (better->best > (1 + tolerance) * worse->best) {
    verdict.why = fmt::format("prices, {} of {} and {} of {}", fastest(*worse), worse->way,
                              fastest(*better), better->way);
  } else if (better->taken > (1 + tolerance) * worse->taken) {
    verdict.is_exception = true;
    if (!is_named(named, better->way, better->faster_way)) {
      verdict.why = fmt::format("choice not named, {} though {}", better->way, better->faster_way);
    } else if (better->best < (1 - ChoiceWarnings::saving_min) * better->taken &&
               !better->is_warned) {
      verdict.why = fmt::format("no warning, {} though {}", better->way, better->faster_way);
    }
  }
  return verdict;
}

/// The simplest trial found that still breaks its law.
CollectiveTrial shrunk(CollectiveTrial trial) {
  for (bool is_simpler = true; is_simpler;) {
    is_simpler = false;
    for (const CollectiveTrial& other : simpler(trial)) {
      const auto verdict = judge(other);
      if (!verdict || verdict->why.empty()) continue;
      trial = other;
      is_simpler = true;
      break;
    }
  }
  return trial;
}

std::string told(const CollectiveTrial& trial, std::uint64_t seed) {
  const Verdict verdict = judge(trial).value();
  return fmt::format(
      "seed {}: {} ({})\nmust not take longer, {:.1f} us ({}; best {:.1f} us):\n{}than, {:.1f} us "
      "({}; best {:.1f} us):\n{}",
      seed, name_of(trial.law), verdict.why, 1e6 * verdict.better.taken, verdict.better.way,
      1e6 * verdict.better.best, yaml_of(verdict.pair.better), 1e6 * verdict.worse.taken,
      verdict.worse.way, 1e6 * verdict.worse.best, yaml_of(verdict.pair.worse));
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Tries `pairs` pairs; tells of each kind of failure the first.
void try_pairs(std::uint64_t first_seed, std::uint64_t pairs) {
  std::map<std::string, int> failures;
  std::uint64_t tried = 0;
  std::uint64_t exceptions = 0;
  for (std::uint64_t seed = first_seed; tried < pairs; ++seed) {
    const CollectiveTrial trial = random_trial(seed);
    const auto verdict = judge(trial);
    if (!verdict) continue;
    ++tried;
    if (verdict->is_exception) ++exceptions;
    if (verdict->why.empty()) continue;
    if (failures[fmt::format("{}: {}", name_of(trial.law), verdict->why)]++ > 0) continue;
    UNSCOPED_INFO(told(shrunk(trial), seed));
    CHECK(verdict->why == "");
  }
  for (const auto& [what, count] : failures) UNSCOPED_INFO(count << " x " << what);
  CHECK(failures.empty());
  // What was found, rounded up: it catches prices that go further from NCCL's own.
  CHECK(exceptions <= tried / 33);
}

}  // namespace

TEST_CASE("A collective obeys the laws of its network, its size and its machines, or is named",
          "[laws][collective][many]") {
  try_pairs(number_from("GRADWIRE_LAWS_SEED", 1), 800 * number_from("GRADWIRE_LAW_CASES", 1));
}

TEST_CASE("Every named choice of NCCL says by what it is known", "[laws][collective]") {
  const auto rows = named_choices();
  REQUIRE(!rows.empty());
  for (const NamedChoice& row : rows) {
    INFO(row.taken << ", " << row.faster);
    CHECK(row.evidence.size() > 20);
  }
}

}  // namespace gradwire
