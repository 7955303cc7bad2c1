#include "sim/cli/point_store.hpp"

#include <filesystem>

#include "sim/cli/point_key.hpp"
#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire::cli {
namespace {

TEST_CASE("What was put into a store is in it when it is opened again", "[cli][store]") {
  const Workplace place("store");
  const std::string file = place.path() / "p.db";
  {
    PointStore store(file);
    store.put("a", "this", "n=1", "{\"x\": \"\xc3\xa4\"}");
    store.put("b", "that", "n=2", "2");
    store.put("b", "this", "n=2", "3");
    CHECK(store.size() == 2);
  }
  const PointStore store(file);
  CHECK(store.size() == 2);
  CHECK(store.keys("this") == std::unordered_set<std::string>{"a", "b"});
  CHECK(store.keys("that").empty());
  CHECK(store.get("a") == "{\"x\": \"\xc3\xa4\"}");
  CHECK(store.get("b") == "3");
  CHECK_FALSE(place.has("p.db-journal"));
}

TEST_CASE("A store that is open is refused to others, and free again afterwards", "[cli][store]") {
  const Workplace place("store_in_use");
  place.write("s.yaml", scenario("vary: {run.seed: [1, 2]}\n"));
  {
    PointStore store(place.path() / "p.db");
    store.put("a", "this", "", "1");
    const auto run = place.run("sweep s.yaml --store p.db");
    CHECK(run.code == 1);
    CHECK(run.err ==
          "gradwire: 'p.db' is in use; expected a store that no other program has open\n");
  }
  CHECK(place.run("sweep s.yaml --store p.db").code == 0);
  CHECK_FALSE(place.has("p.db-wal"));
}

TEST_CASE("A store in which nothing was put is gone again", "[cli][store]") {
  const Workplace place("store_empty");
  { const PointStore store(place.path() / "p.db"); }
  CHECK_FALSE(place.has("p.db"));
  CHECK_FALSE(place.has("p.db-wal"));
}

TEST_CASE("A store of one's own holds what it was given, and no file", "[cli][store]") {
  PointStore store("");
  for (int i = 0; i < 2000; ++i) {
    store.put(std::to_string(i), "", "", std::string(5000, static_cast<char>('a' + i % 26)));
  }
  CHECK(store.size() == 2000);
  CHECK(store.get("27") == std::string(5000, 'b'));
}

TEST_CASE("What is no store, or damaged, is refused with its name and left as it is",
          "[cli][store]") {
  const Workplace place("store_damaged");
  const std::string file = place.path() / "p.db";
  std::string why;
  const std::string kind = GENERATE("text", "cut", "changed", "folder");
  if (kind == "text") {
    place.write("p.db", "schema: gradwire.scenario/1\n" + std::string(2000, '#'));
    why = "is no store";
  } else if (kind == "folder") {
    std::filesystem::create_directory(file);
    why = "is no regular file";
  } else {
    {
      PointStore store(file);
      for (int i = 0; i < 20; ++i) store.put(std::to_string(i), "", "", std::string(3000, 'x'));
    }
    std::string text = place.text("p.db");
    if (kind == "cut") {
      text.resize(text.size() / 2);
    } else {
      text[text.find("xxxx") + 100] = 'y';
    }
    place.write("p.db", text);
    why = "is damaged";
  }
  const std::string before = kind == "folder" ? "" : place.text("p.db");
  const auto use = [&] {
    const PointStore store(file);
    for (int i = 0; i < 20; ++i) static_cast<void>(store.get(std::to_string(i)));
  };
  CHECK_THROWS_AS(use(), ConfigError);
  CHECK_THROWS_WITH(use(), Catch::StartsWith(file + ":1:1: " + why) &&
                               Catch::EndsWith("; expected a store that 'gradwire sweep --store' "
                                               "made, or a new name"));
  if (kind == "text") CHECK(place.text("p.db") == before);
}

TEST_CASE("A point's key is that of its program, scenario and data, not of its files' names",
          "[cli][store]") {
  config::Scenario s;
  s.name = "a";
  s.json = "{\"run\":{\"seed\":1}}";
  const auto key = point_key("p", s, {{"x.yaml", "1"}, {"y.yaml", "2"}});
  CHECK(key.size() == 64);
  CHECK(key == point_key("p", s, {{"u.yaml", "2"}, {"v.yaml", "1"}}));
  CHECK(key != point_key("q", s, {{"x.yaml", "1"}, {"y.yaml", "2"}}));
  CHECK(key != point_key("p", s, {{"x.yaml", "1"}, {"y.yaml", "3"}}));
  s.warnings.push_back({"code", "text"});
  CHECK(key != point_key("p", s, {{"x.yaml", "1"}, {"y.yaml", "2"}}));
  s.warnings.clear();
  s.json = "{\"run\":{\"seed\":2}}";
  CHECK(key != point_key("p", s, {{"x.yaml", "1"}, {"y.yaml", "2"}}));
  CHECK(program_identity().find("gradwire ") == 0);
}

}  // namespace
}  // namespace gradwire::cli
