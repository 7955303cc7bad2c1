#include "tests/laws/training_law.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "sim/core/random.hpp"
#include "tests/catch.hpp"

namespace gradwire::laws {
namespace {

/// Shrinking takes many runs: of so many jobs.
constexpr std::size_t shrunk_most = 3;

struct Pair {
  TrainingJob before;
  TrainingJob after;
  Prediction first;
  Prediction second;
};

std::optional<Pair> predict_both(const Law& law, TrainingJob job) {
  const std::optional<TrainingJob> changed = law.change(job);
  if (!changed) return std::nullopt;
  const auto first = predict(job.yaml());
  if (!first) return std::nullopt;
  const auto second = predict(changed->yaml());
  if (!second) return std::nullopt;
  return Pair{job, *changed, *first, *second};
}

bool is_excused(const Law& law, const Pair& pair) {
  return law.excused_by_choice && (pair.first.warned || pair.second.warned);
}

bool breaks(const Law& law, const Pair& pair) {
  return law.excess(pair.first, pair.second) > law.slack && !is_excused(law, pair);
}

/// The simplest job that still breaks the law, by taking one step after the other.
Pair shrink(const Law& law, Pair pair) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const TrainingJob& job : simpler(pair.before)) {
      const std::optional<Pair> tried = predict_both(law, job);
      if (!tried || !breaks(law, *tried)) continue;
      if (tried->before.yaml() == pair.before.yaml()) continue;  // the law put it back
      pair = *tried;
      smaller = true;
      break;
    }
  }
  return pair;
}

std::string told(const Law& law, std::uint64_t seed, const Pair& pair) {
  return fmt::format("{}: by {:.1f} % (case {})\n--- {:.6g} ms\n{}--- {:.6g} ms\n{}", law.name,
                     100 * law.excess(pair.first, pair.second), seed, 1e3 * pair.first.iteration,
                     pair.before.yaml(), 1e3 * pair.second.iteration, pair.after.yaml());
}

int times_as_many() {
  const char* wanted = std::getenv("GRADWIRE_LAW_CASES");
  return wanted == nullptr ? 1 : std::max(1, std::atoi(wanted));
}

struct Verdict {
  int held = 0;
  int excused = 0;  ///< by a warning of NCCL's choice
  std::vector<std::string> broken;
};

Verdict hold(const Law& law, int cases, std::uint64_t seed) {
  Verdict verdict;
  const int wanted = cases * times_as_many();
  const int drawn_most = 20 * wanted;  // laws say nothing of most jobs
  for (int drawn = 0; verdict.held < wanted && drawn < drawn_most; ++drawn) {
    const std::uint64_t number = absorb(seed, static_cast<std::uint64_t>(drawn));
    const auto pair = predict_both(law, draw_job(number, law.strategies));
    if (!pair) continue;
    ++verdict.held;
    if (breaks(law, *pair)) {
      const bool is_shown = verdict.broken.size() < shrunk_most;
      verdict.broken.push_back(told(law, number, is_shown ? shrink(law, *pair) : *pair));
    } else if (law.excess(pair->first, pair->second) > law.slack) {
      ++verdict.excused;
    }
  }
  return verdict;
}

}  // namespace

double slower(const Prediction& before, const Prediction& after) {
  return after.iteration / before.iteration - 1;
}

double faster(const Prediction& before, const Prediction& after) {
  return before.iteration / after.iteration - 1;
}

double different(const Prediction& before, const Prediction& after) {
  return std::max(slower(before, after), faster(before, after));
}

void check(const Law& law, int cases, std::uint64_t seed) {
  const Verdict verdict = hold(law, cases, seed);
  CAPTURE(verdict.held, verdict.excused);
  INFO(fmt::format("{}", fmt::join(verdict.broken, "\n")));
  CHECK(verdict.broken.empty());
  REQUIRE(verdict.held >= cases);
  CHECK(10 * verdict.excused <= verdict.held);
}

}  // namespace gradwire::laws
