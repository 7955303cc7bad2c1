// What a sweep has finished stays, whatever ends it. scripts/kill_sweeps.sh does many kills.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>

#include "sim/cli/point_store.hpp"
#include "tests/catch.hpp"
#include "tests/cli/background.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

using namespace std::chrono_literals;

/// What may pass before a worker is there, or a quick point done, on a machine that is busy.
constexpr auto patience = 60s;

/// Points of some tens of milliseconds.
std::string quick_points(int count) {
  std::string seeds;
  for (int i = 1; i <= count; ++i) seeds += fmt::format("{}{}", i == 1 ? "" : ", ", i);
  return scenario(fmt::format("vary: {{run.seed: [{}], run.iterations: [100]}}\n", seeds));
}

std::ptrdiff_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// How many points are safe in a store that a sweep has open: in a copy of its files.
std::size_t points_in_copy(const Workplace& place) {
  const Workplace copy("copy_of_" + place.path().filename().string());
  try {
    for (const char* name : {"p.db", "p.db-wal"}) {
      if (place.has(name)) std::filesystem::copy(place.path() / name, copy.path() / name);
    }
    return place.has("p.db") ? cli::PointStore(copy.path() / "p.db").size() : 0;
  } catch (const std::exception&) {
    return 0;  // caught in the middle of a write
  }
}

/// "gradwire: 5 of 12 points are from 'p.db'" -> 5; 0 where that is not said.
std::size_t taken(const std::string& message) {
  const std::size_t end = message.find(" points are from");
  if (end == std::string::npos) return 0;
  return std::stoul(message.substr(message.rfind("gradwire: ", end) + 10));
}

TEST_CASE("A worker does not outlive a killed sweep by a second", "[cli][kills]") {
  const Workplace place("orphans");
  place.write("s.yaml", scenario("vary: {run.iterations: [900001, 900002, 900003]}\n"));
  Background sweep(place, "sweep s.yaml -j 2");
  REQUIRE(wait_until([&] { return sweep.workers().size() == 2; }, patience));
  const auto workers = sweep.workers();
  sweep.send(SIGKILL);
  CHECK(sweep.wait() == -SIGKILL);
  CHECK(wait_until([&] { return std::none_of(workers.begin(), workers.end(), lives); }, 1s));
}

TEST_CASE("A killed worker costs its own point, which a later sweep tries again", "[cli][kills]") {
  const Workplace place("killed_worker");
  place.write("s.yaml", scenario("vary: {run.iterations: [900001, 2, 3, 4]}\n"));
  Background sweep(place, "sweep s.yaml -j 2 --store p.db --csv a.csv");
  REQUIRE(wait_until([&] { return points_in_copy(place) == 3; }, patience));
  REQUIRE(wait_until([&] { return sweep.workers().size() == 1; }, patience));
  ::kill(sweep.workers().front(), SIGKILL);
  CHECK(sweep.wait() == 1);
  CHECK(place.text(".err") == "gradwire: 1 of 4 points failed\n");
  const std::string rows = place.text("a.csv");
  CHECK(lines(rows) == 5);
  CHECK_THAT(rows, Catch::ContainsSubstring("the worker was ended by signal 9 (Killed)\n"));
  place.write("s.yaml", scenario("vary: {run.iterations: [5, 2, 3, 4]}\n"));
  CHECK(place.run("sweep s.yaml --store p.db --resume").err ==
        "gradwire: 3 of 4 points are from 'p.db'\n");
}

TEST_CASE("Rows that were done stand in FILE.partial, which the next sweep says", "[cli][kills]") {
  const Workplace place("partial");
  place.write("s.yaml", scenario("vary: {run.iterations: [2, 3, 4, 900001]}\n"));
  {
    Background sweep(place, "sweep s.yaml -j 2 --csv a.csv");
    REQUIRE(wait_until([&] { return lines(place.text("a.csv.partial")) == 4; }, patience));
    sweep.kill_all();
    CHECK(sweep.wait() == -SIGKILL);
  }
  CHECK_FALSE(place.has("a.csv"));
  const std::string left = place.text("a.csv.partial");
  place.write("s.yaml", scenario("vary: {run.iterations: [2, 3, 4]}\n"));
  const auto again = place.run("sweep s.yaml -j 1 --csv a.csv");
  CHECK(again.code == 0);
  CHECK(again.err ==
        "gradwire: 'a.csv.partial' is of a sweep that was killed; this one begins it anew\n");
  CHECK_FALSE(place.has("a.csv.partial"));
  // Every row that was left is one of the whole file's.
  const std::string whole = place.text("a.csv");
  CHECK(lines(whole) == 4);
  for (std::size_t begin = 0; begin < left.size();) {
    const std::size_t end = left.find('\n', begin) + 1;
    CHECK_THAT(whole, Catch::ContainsSubstring(left.substr(begin, end - begin)));
    begin = end;
  }
}

TEST_CASE("The terminal's end is an interrupt, but not under nohup", "[cli][kills]") {
  const Workplace place("hang_up");
  place.write("s.yaml", scenario("vary: {run.iterations: [2, 900001]}\n"));
  const bool deaf = GENERATE(false, true);
  Background sweep(place, "sweep s.yaml -j 2 --csv a.csv", deaf ? "trap '' HUP;" : "");
  REQUIRE(wait_until([&] { return lines(place.text("a.csv.partial")) == 2; }, patience));
  sweep.send(SIGHUP);
  if (deaf) {
    // An interrupt is seen within 200 ms.
    CHECK_FALSE(wait_until([&] { return !lives(sweep.pid()); }, 1s));
    sweep.send(SIGINT);
  }
  CHECK(sweep.wait() == 130);
  CHECK(place.text(".err") == "gradwire: interrupted; 1 of 2 points are done\n");
  CHECK(lines(place.text("a.csv")) == 3);
  CHECK_FALSE(place.has("a.csv.partial"));
}

/// Ways to end a sweep.
enum class Kind : std::uint8_t { kill, kill_worker, kill_all, hang_up, terminate, interrupt };
constexpr std::array<std::pair<Kind, const char*>, 6> kinds = {
    {{Kind::kill, "SIGKILL, the sweep"},
     {Kind::kill_worker, "SIGKILL, a worker"},
     {Kind::kill_all, "SIGKILL, both"},
     {Kind::hang_up, "SIGHUP"},
     {Kind::terminate, "SIGTERM"},
     {Kind::interrupt, "SIGINT"}}};

void end_sweep(const Background& sweep, Kind kind) {
  switch (kind) {
    case Kind::kill:
      return sweep.send(SIGKILL);
    case Kind::kill_worker: {
      const auto workers = sweep.workers();
      if (!workers.empty()) ::kill(workers.front(), SIGKILL);
      return;
    }
    case Kind::kill_all:
      return sweep.kill_all();
    case Kind::hang_up:
      return sweep.send(SIGHUP);
    case Kind::terminate:
      return sweep.send(SIGTERM);
    case Kind::interrupt:
      return sweep.send(SIGINT);
  }
}

struct Tally {
  int kills = 0;
  int late = 0;            ///< of them, when the sweep had already ended
  std::size_t points = 0;  ///< that were finished when the sweep was ended
  std::size_t lost = 0;
  std::size_t orphans = 0;      ///< workers that lived on for a second
  std::size_t other_files = 0;  ///< results that are not as those of one go, or files left behind
};

/// One kill at a moment of a sweep of 12 points, and the sweep that goes on.
void kill_once(Kind kind, std::chrono::milliseconds moment, const std::string& whole_csv,
               Tally& tally) {
  const Workplace place("kill_once");
  place.write("s.yaml", quick_points(12));
  std::size_t finished = 0;
  {
    Background sweep(place, "sweep s.yaml -j 2 --store p.db --csv a.csv");
    std::this_thread::sleep_for(moment);
    finished = points_in_copy(place);
    const auto workers = sweep.workers();
    const bool over = !lives(sweep.pid());
    end_sweep(sweep, kind);
    const int code = sweep.wait();
    tally.late += over || code == 0 ? 1 : 0;
    wait_until([&] { return std::none_of(workers.begin(), workers.end(), lives); }, 1s);
    tally.orphans += static_cast<std::size_t>(std::count_if(workers.begin(), workers.end(), lives));
  }
  const auto resumed = place.run("sweep s.yaml -j 2 --store p.db --resume --csv a.csv");
  const std::size_t found = taken(resumed.err);
  ++tally.kills;
  tally.points += finished;
  tally.lost += finished > found ? finished - found : 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path())) {
    const std::string name = entry.path().filename();
    const bool known = name == "s.yaml" || name == "p.db" || name == "a.csv" || name[0] == '.';
    tally.other_files += known ? 0U : 1U;
  }
  tally.other_files += resumed.code == 0 && place.text("a.csv") == whole_csv ? 0U : 1U;
}

TEST_CASE("No kill loses a finished point", "[cli][kills][many]") {
  // The label `exhaustive` has 200; here one of each kind.
  const char* many = std::getenv("GRADWIRE_KILLS");
  const int kills = many == nullptr ? static_cast<int>(kinds.size()) : std::atoi(many);
  std::string whole;
  std::chrono::milliseconds duration{};
  {
    const Workplace place("kills_reference");
    place.write("s.yaml", quick_points(12));
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(place.run("sweep s.yaml -j 2 --csv a.csv").code == 0);
    duration = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    whole = place.text("a.csv");
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0.05, 0.7);
  std::map<const char*, Tally> tallies;
  for (int i = 0; i < kills; ++i) {
    const auto& [kind, name] = kinds[static_cast<std::size_t>(i) % kinds.size()];
    const std::chrono::milliseconds moment{
        static_cast<int>(share(random) * static_cast<double>(duration.count()))};
    kill_once(kind, moment, whole, tallies[name]);
  }
  fmt::print("{:<20}{:>7}{:>7}{:>18}{:>13}{:>9}{:>13}\n", "kind", "kills", "late",
             "points finished", "points lost", "orphans", "wrong files");
  for (const auto& [kind, name] : kinds) {
    const Tally& tally = tallies[name];
    fmt::print("{:<20}{:>7}{:>7}{:>18}{:>13}{:>9}{:>13}\n", name, tally.kills, tally.late,
               tally.points, tally.lost, tally.orphans, tally.other_files);
    CHECK(tally.lost == 0);
    CHECK(tally.orphans == 0);
    CHECK(tally.other_files == 0);
  }
}

}  // namespace
}  // namespace gradwire
