#include "sim/config/collective_table_yaml.hpp"

#include <string>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

/// A table of one entry; `row` stands on line 11, from column 9.
std::string table_text(const std::string& row) {
  return "schema: gradwire.collective_table/1\n"
         "library: nccl\n"
         "entries:\n"
         "  - op: all_reduce\n"
         "    ranks: 8\n"
         "    nodes: 1\n"
         "    source:\n"
         "      {kind: imported, file: nccl-tests.log}\n"
         "    rows:\n"
         "      - {size: 1 MiB, time: 70 us}\n"
         "      - " +
         row + "\n";
}

std::vector<MeasuredSeries> read(const std::string& text) {
  return config::read_collective_series(config::parse_yaml(text, "table.yaml"));
}

}  // namespace

TEST_CASE("A collective table is read with its units", "[cost][table][yaml]") {
  const auto table = read(table_text("{size: 2 MB, time: 0.1 ms, algorithm: ring, protocol: ll}"));
  REQUIRE(table.size() == 1);
  CHECK(table[0].op == CollectiveKind::all_reduce);
  CHECK(table[0].ranks == 8);
  CHECK(table[0].machines == 1);
  REQUIRE(table[0].rows.size() == 2);
  CHECK(table[0].rows[0].size == Bytes{1048576});
  CHECK(table[0].rows[0].time.count() == Approx(70e-6));
  CHECK(table[0].rows[0].protocol.empty());
  CHECK(table[0].rows[1].size == Bytes{2'000'000});
  CHECK(table[0].rows[1].time.count() == Approx(100e-6));
  CHECK(table[0].rows[1].algorithm == "ring");
  CHECK(table[0].rows[1].protocol == "ll");
}

TEST_CASE("A collective table's mistakes are named with their place", "[cost][table][yaml]") {
  const auto [row, place, what] = GENERATE(table<std::string, std::string, std::string>({
      {"{size: 2097152, time: 80 us}", "table.yaml:11:16: ", "unit"},
      {"{size: 2 MiB, time: 80}", "table.yaml:11:29: ", "unit"},
      {"{size: 2 MiB, time: 0 us}", "table.yaml:11:29: ", "above 0 s"},
      {"{size: 1 MiB, time: 80 us}", "table.yaml:11:16: ",
       "'size' is not above the row before; expected rows in rising order of size"},
      {"{size: 2 MiB, tine: 80 us}", "table.yaml:11:23: ", "'time'"},
      {"{size: 2 MiB, time: 80 us, protocol: ll12}", "table.yaml:11:46: ", "'ll128'"},
  }));
  CHECK_THROWS_WITH(read(table_text(row)),
                    Catch::ContainsSubstring(place) && Catch::ContainsSubstring(what));
}

TEST_CASE("A table has one entry a collective and each entry a source", "[cost][table][yaml]") {
  const std::string text = table_text("{size: 2 MiB, time: 80 us}");
  const std::string entry = text.substr(text.find("  - op"));
  CHECK_THROWS_WITH(read(text + entry),
                    "table.yaml:12:9: a second entry for 8 ranks on 1 nodes; expected one an op");
  std::string without = text;
  without.replace(without.find("source:"), 7, "sauce: ");
  CHECK_THROWS_WITH(read(without), Catch::ContainsSubstring("table.yaml:7:5: ") &&
                                       Catch::ContainsSubstring("'source'"));
}

}  // namespace gradwire
