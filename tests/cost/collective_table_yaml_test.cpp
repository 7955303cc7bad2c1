#include "sim/config/collective/collective_table_yaml.hpp"

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
  return config::read_collective_table(config::parse_yaml(text, "table.yaml")).series;
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

TEST_CASE("A table that is written and read again is the same", "[cost][table][yaml]") {
  CollectiveTable table;
  table.library = "nccl";
  table.gpu = "A100: \"large\"";
  MeasuredSeries series;
  series.op = CollectiveKind::all_to_all;
  series.ranks = 16;
  series.machines = 2;
  series.in_place = true;
  series.version = "2.18";
  series.source = {"imported", "run.txt", "nccl-tests", "", "two runs"};
  series.rows = {{Bytes{1000}, Seconds{12.345678e-6}, "", "", 0},
                 {Bytes{1 << 20}, Seconds{1e-3}, "ring", "ll128", 4}};
  table.series = {series};
  CollectiveFit fit;
  fit.op = CollectiveKind::all_to_all;
  fit.hops = HopClass::network;
  fit.ranks = {8, 16};
  fit.residual_p50 = 0.0125;
  fit.residual_p95 = 0.05;
  FitSegment segment;
  segment.chunk_first = Bytes{63};
  segment.chunk_last = Bytes{65536};
  segment.algorithm = "ring";
  segment.protocol = "simple";
  segment.launch = Seconds{20e-6};
  segment.hop_local = Seconds{2e-6};
  segment.hop_network = Seconds{15e-6};
  segment.link_time = 1.25;
  segment.local_pass = Seconds{2e-12};
  segment.rows = 2;
  fit.segments = {segment};
  table.fits = {fit};

  const std::string text = config::write_collective_table(table, {});
  const CollectiveTable again = config::read_collective_table(config::parse_yaml(text, "t.yaml"));
  CHECK(config::write_collective_table(again, {}) == text);
  CHECK(again.gpu == table.gpu);
  const MeasuredSeries& read = again.series.at(0);
  CHECK(read.op == CollectiveKind::all_to_all);
  CHECK(read.in_place);
  CHECK(read.source.notes == "two runs");
  CHECK(read.rows.at(0).time.count() == Approx(12.345678e-6));
  CHECK(read.rows.at(1).channels == 4);
  const CollectiveFit& fitted = again.fits.at(0);
  CHECK(fitted.hops == HopClass::network);
  CHECK(fitted.ranks == fit.ranks);
  CHECK(fitted.residual_p95 == Approx(0.05));
  const FitSegment& part = fitted.segments.at(0);
  CHECK(part.chunk_first == Bytes{63});
  CHECK(part.hop_network.count() == Approx(15e-6));
  CHECK(part.link_time == Approx(1.25));
  CHECK(part.local_pass.count() == Approx(2e-12));
}

TEST_CASE("A fit's mistakes are named with their place", "[cost][table][yaml]") {
  const auto fits = [](const std::string& hops, const std::string& segment) {
    return table_text("{size: 2 MiB, time: 80 us}") +
           "fits:\n"
           "  - {op: all_reduce, hops: " +
           hops + ", ranks: [2, 4], residual: {p50: 1 %, p95: 2 %}, segments: [" + segment + "]}\n";
  };
  const std::string good =
      "{from: 1 KiB, to: 1 MiB, rows: 4, launch: 9 us, hop_local: 1 us, link_time: 105 %}";
  CHECK(read(fits("nvlink", good)).size() == 1);
  CHECK_THROWS_WITH(read(fits("nvlnk", good)), Catch::ContainsSubstring("'nvlink'"));
  CHECK_THROWS_WITH(read(fits("network", good)), Catch::ContainsSubstring("hop_network"));
  CHECK_THROWS_WITH(read(fits("nvlink", "")), Catch::ContainsSubstring("'segments' is empty"));
  std::string bare = good;
  bare.replace(bare.find("105 %"), 5, "1.05");
  CHECK_THROWS_WITH(read(fits("nvlink", bare)), Catch::ContainsSubstring("%"));
  std::string turned = good;
  turned.replace(turned.find("1 MiB"), 5, "1 B");
  CHECK_THROWS_WITH(read(fits("nvlink", turned)), Catch::ContainsSubstring("1 KiB"));
}

}  // namespace gradwire
