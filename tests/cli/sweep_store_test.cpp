#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/background.hpp"
#include "tests/cli/program.hpp"
#include "tests/skipped.hpp"
#include "tests/source_dir.hpp"

namespace gradwire {
namespace {

using Json = nlohmann::json;

/// A result file without what differs from run to run: what the engine took.
Json without_cost(const std::string& text) {
  Json json = Json::parse(text);
  for (Json& result : json["results"]) {
    if (!result.contains("engine")) continue;
    for (const char* key : {"plan_s", "run_s", "total_s", "peak_memory"}) {
      result["engine"].erase(key);
    }
  }
  return json;
}

TEST_CASE("A resumed sweep computes what the store lacks, and its files are those of one go",
          "[cli][sweep][store]") {
  const Workplace place("resume");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2]}\n"));
  CHECK(place.run("sweep s.yaml --store p.db").code == 0);
  place.write("s.yaml", scenario("vary: {run.seed: [3, 2, 1], cluster.gpus_per_node: [4, 99]}\n"));
  const auto whole = place.run("sweep s.yaml --csv a.csv --json a.json");
  const auto resumed = place.run("sweep s.yaml --store p.db --resume --csv b.csv --json b.json");
  CHECK(whole.code == 1);  // 99 GPUs
  CHECK(resumed.code == 1);
  // The key that `vary` sets is the scenario's own: as where it stands in the file.
  CHECK(resumed.err == "gradwire: 2 of 6 points are from 'p.db'\ngradwire: 3 of 6 points failed\n");
  CHECK(resumed.out == whole.out);
  CHECK(place.text("b.csv") == place.text("a.csv"));
  CHECK(without_cost(place.text("b.json")) == without_cost(place.text("a.json")));
  // Once all is in the store, byte for byte.
  CHECK(place.run("sweep s.yaml --store p.db --resume --json c.json").code == 1);
  CHECK(place.text("c.json") == place.text("b.json"));
  for (const char* left : {"p.db-wal", "p.db-shm", "b.csv.partial"}) CHECK_FALSE(place.has(left));
}

TEST_CASE("Points of other data files or another scenario are not taken, which a line says",
          "[cli][sweep][store]") {
  const Workplace place("other_data");
  std::string profile = read_file(std::filesystem::path(GRADWIRE_SOURCE_DIR) / "profiles" /
                                  "resnet50" / "v100-sxm2-32gb_fp32_b32.yaml");
  std::string text = scenario("vary: {run.seed: [1, 2]}\n");
  text.replace(text.find("resnet50/v100-sxm2-32gb_fp32_b32"), 32, "p.yaml");
  place.write("s.yaml", text);
  place.write("p.yaml", profile);
  CHECK(place.run("sweep s.yaml --store p.db").code == 0);
  const auto same = place.run("sweep s.yaml --store p.db --resume --set run.warmup=1");
  CHECK(same.err == "gradwire: 2 of 2 points are from 'p.db'\n");
  std::string arguments = "sweep s.yaml --store p.db --resume";
  if (GENERATE(true, false)) {
    place.write("p.yaml", profile + "# one byte more\n");
  } else {
    arguments += " --set run.warmup=2";
  }
  const auto other = place.run(arguments);
  CHECK(other.code == 0);
  CHECK(other.err ==
        "gradwire: none of the 2 points in 'p.db' is one of these: they are of another scenario, "
        "of other data files or another program\n");
  CHECK(place.run(arguments).err == "gradwire: 2 of 2 points are from 'p.db'\n");
}

TEST_CASE("A store that cannot be used ends the sweep before it begins", "[cli][sweep][store]") {
  const Workplace place("bad_store");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2]}\n"));
  place.write("p.db", "# a text\n" + std::string(600, '#'));
  const auto text = place.run("sweep s.yaml --store p.db --resume --csv a.csv");
  CHECK(text.code == 3);
  CHECK(text.err ==
        "p.db:1:1: is no store; expected a store that 'gradwire sweep --store' made, or a new "
        "name\n");
  CHECK_FALSE(place.has("a.csv"));
  CHECK(place.run("sweep s.yaml --resume").code == 2);
  CHECK(place.run("sweep s.yaml --store s.yaml").code == 2);
  CHECK(place.run("sweep s.yaml --store a.csv --csv a.csv").code == 2);
}

TEST_CASE("A sweep file that is wrong for every point makes no store", "[cli][sweep][store]") {
  const Workplace place("wrong_with_store");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2]}\njittre: {iteration: 0 %}\n"));
  CHECK(place.run("sweep s.yaml --store p.db").code == 3);
  CHECK_FALSE(place.has("p.db"));
}

TEST_CASE("The jobs of ddl-benchmarks go on from a store", "[cli][sweep][store]") {
  const Workplace place("ddl_store");
  std::filesystem::create_directory(place.path() / "out");
  place.write("s.yaml", scenario("vary: {strategy.name: [wfbp, bsp], run.seed: [1, 2]}\n"));
  const std::string arguments = "sweep s.yaml --ddl-benchmarks out";
  CHECK(place.run(arguments).code == 0);
  const std::string table = place.text("out/README.md");
  const std::string reports = place.text("out/reports.json");
  CHECK(place.run("sweep s.yaml --store p.db --set 'vary={run.seed: [2], strategy.name: [bsp]}'")
            .code == 0);
  const auto resumed = place.run(arguments + " --store p.db --resume");
  CHECK_THAT(resumed.err, Catch::ContainsSubstring("1 of 4 points are from 'p.db'"));
  CHECK(place.text("out/README.md") == table);
  CHECK(place.text("out/reports.json") == reports);
}

TEST_CASE("With few descriptors fewer workers run, which is said once", "[cli][sweep]") {
  const Workplace place("few_descriptors");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n"));
  CHECK(place.run("sweep s.yaml --csv a.csv").code == 0);
  const auto few = place.run("sweep s.yaml -j 12 --csv b.csv", "ulimit -n 24 &&");
  CHECK(few.code == 0);
  CHECK_THAT(few.err, Catch::EndsWith(" of 12 workers run at a time: Too many open files\n"));
  CHECK(std::count(few.err.begin(), few.err.end(), '\n') == 1);
  CHECK(place.text("b.csv") == place.text("a.csv"));
}

TEST_CASE("A store that is full ends the sweep, and what was in it stays", "[cli][sweep][store]") {
  const Workplace place("limited_store");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n"));
  CHECK(place.run("sweep s.yaml --csv a.csv").code == 0);
  // 120 blocks of 512 bytes: a point takes some 10 kB of the log
  const auto full = place.run("sweep s.yaml -j 1 --store p.db --csv b.csv", "ulimit -f 120 &&");
  CHECK(full.code == 1);
  CHECK(full.err == "gradwire: cannot write 'p.db': File too large\n");
  CHECK_FALSE(place.has("b.csv"));
  const auto resumed = place.run("sweep s.yaml --store p.db --resume --csv b.csv");
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, Catch::EndsWith(" of 12 points are from 'p.db'\n"));
  CHECK(place.text("b.csv") == place.text("a.csv"));
}

TEST_CASE("Where the partial file is full the sweep goes on, and its table is printed",
          "[cli][sweep]") {
  const Workplace place("limited_partial");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2, 3, 4, 5, 6, 7, 8]}\n"));
  const auto whole = place.run("sweep s.yaml");
  const auto full = place.run("sweep s.yaml -j 1 --csv a.csv", "ulimit -f 7 &&");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Catch::StartsWith("gradwire: cannot write 'a.csv.partial': File too large; "
                                         "further points are kept in memory only\n"));
  CHECK_THAT(full.err, Catch::EndsWith("cannot write 'a.csv': File too large\n"));
  CHECK(full.out == whole.out);
  CHECK_FALSE(place.has("a.csv"));
  const std::string rows = place.text("a.csv.partial");
  CHECK(rows.back() == '\n');
  CHECK(std::count(rows.begin(), rows.end(), '\n') >= 2);
}

TEST_CASE("A full disk loses no finished point", "[cli][sweep][store]") {
  const Workplace place("full_disk");
  const std::filesystem::path disk = place.path() / "disk";
  std::filesystem::create_directory(disk);
  const std::string mount = "mount -t tmpfs -o size=96k none '" + disk.string() + "' 2> /dev/null";
  if (std::system(mount.c_str()) != 0) {
    test::skip("no right to mount a small file system");
    return;
  }
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}\n"));
  CHECK(place.run("sweep s.yaml --csv a.csv").code == 0);
  const auto full = place.run("sweep s.yaml -j 1 --store disk/p.db");
  CHECK(full.code == 1);
  CHECK(full.err == "gradwire: cannot write 'disk/p.db': No space left on device\n");
  CHECK(std::system(("mount -o remount,size=4m '" + disk.string() + "'").c_str()) == 0);
  const auto resumed = place.run("sweep s.yaml --store disk/p.db --resume --csv b.csv");
  CHECK(resumed.code == 0);
  CHECK_THAT(resumed.err, Catch::EndsWith(" of 12 points are from 'disk/p.db'\n"));
  CHECK(place.text("b.csv") == place.text("a.csv"));
  CHECK(std::system(("umount '" + disk.string() + "'").c_str()) == 0);
}

}  // namespace
}  // namespace gradwire
