#include "sim/cost/measured_table.hpp"

#include <memory>

#include "sim/collectives/planners.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/nodes.hpp"

namespace gradwire {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace): our own units

Pattern pattern_of(int ranks, int machines, CollectiveKind kind = CollectiveKind::all_reduce) {
  Pattern pattern;
  pattern.kind = kind;
  pattern.algorithm = "ring";
  pattern.ranks = ranks;
  pattern.machines = machines;
  return pattern;
}

constexpr Bytes kib(std::int64_t count) {
  return Bytes{count * 1024};
}

MeasuredRow row(std::int64_t size_kib, double us) {
  return {kib(size_kib), Seconds{us * 1e-6}, "", ""};
}

/// 1 s, whatever the size.
class OneSecond final : public CostModel {
 public:
  explicit OneSecond(Seconds late_messages = {}) : late_messages_(late_messages) {}
  [[nodiscard]] CollectiveCost price(const Pattern& pattern, Bytes /*size*/) const override {
    CollectiveCost cost;
    cost.uncontended = Seconds{1};
    cost.late_messages = late_messages_;
    cost.algorithm = pattern.algorithm;
    cost.source = "fit";
    return cost;
  }

 private:
  Seconds late_messages_;
};

std::shared_ptr<const CollectiveLibrary> one_second(Seconds late_messages = {}) {
  return std::make_shared<RingLibrary>(nullptr, std::make_shared<OneSecond>(late_messages));
}

MeasuredTable table_of(std::vector<MeasuredRow> rows) {
  CollectiveTable table;
  table.series.push_back({CollectiveKind::all_reduce, 8, 1, std::move(rows)});
  return {std::move(table), nullptr, one_second()};
}

CollectiveCost price(const CollectiveLibrary& library, const Pattern& pattern, Bytes size) {
  return library.choose({&pattern, 1}, size).cost;
}

/// Microseconds alone on 8 ranks.
double uncontended_us(const CollectiveLibrary& library, Bytes size) {
  return price(library, pattern_of(8, 1), size).uncontended.value().count() * 1e6;
}

}  // namespace

TEST_CASE("A measured table gives back its own rows", "[cost][table]") {
  const MeasuredTable table = table_of({row(1, 20), row(64, 30), row(1024, 100)});
  for (const MeasuredRow& one : {row(1, 20), row(64, 30), row(1024, 100)}) {
    const CollectiveCost cost = price(table, pattern_of(8, 1), one.size);
    CHECK(cost.uncontended == one.time);  // to the last bit
    CHECK(cost.source == "table");
  }
}

TEST_CASE("Between two rows the time is a power of the size", "[cost][table]") {
  const MeasuredTable table = table_of({row(1, 20), row(64, 80)});
  // Half way in log(size), 8 KiB, is half way in log(time): sqrt(20 * 80) = 40 us.
  CHECK(uncontended_us(table, kib(8)) == Approx(40));
}

TEST_CASE("Below the smallest row the time is a + b S through the two smallest", "[cost][table]") {
  // b = (50 - 30) us / (2 - 1) MiB = 20 us/MiB, a = 30 - 20 = 10 us; at 0.5 MiB: 20 us.
  const MeasuredTable table = table_of({row(1024, 30), row(2048, 50)});
  CHECK(uncontended_us(table, kib(512)) == Approx(20));
  CHECK(uncontended_us(table, kib(0)) == Approx(10));

  SECTION("a is not negative: a jump above the smallest row says nothing of smaller ones") {
    // b = 70 us/MiB would give a = -40 us; through the origin: 15 us at half the size.
    CHECK(uncontended_us(table_of({row(1024, 30), row(2048, 100)}), kib(512)) == Approx(15));
  }
  SECTION("b is not negative: a dip does not make small sizes slower") {
    CHECK(uncontended_us(table_of({row(1024, 30), row(2048, 25)}), kib(0)) == Approx(30));
  }
  SECTION("one row is all bandwidth") {
    CHECK(uncontended_us(table_of({row(1024, 30)}), kib(512)) == Approx(15));
  }
}

TEST_CASE("Above the largest row the bandwidth stays", "[cost][table]") {
  const MeasuredTable table = table_of({row(1, 20), row(1024, 100)});
  CHECK(uncontended_us(table, kib(4096)) == Approx(400));
}

TEST_CASE("A rising table gives rising prices", "[cost][table]") {
  const MeasuredTable table = table_of({row(1, 20), row(2, 21), row(64, 30), row(1024, 100)});
  double before = 0;
  for (std::int64_t size = 1; size < 100'000'000; size += 1 + size / 16) {
    const double now = uncontended_us(table, Bytes{size});
    CHECK(now >= before);
    before = now;
  }
}

TEST_CASE("What was not measured is priced by the fallback", "[cost][table]") {
  const MeasuredTable table = table_of({row(1, 20), row(1024, 100)});
  for (const Pattern& other :
       {pattern_of(4, 1), pattern_of(8, 2), pattern_of(8, 1, CollectiveKind::broadcast)}) {
    const CollectiveCost cost = price(table, other, Bytes{1024});
    CHECK(cost.uncontended == Seconds{1});
    CHECK(cost.source == "fit");
  }
}

TEST_CASE("Rank counts that were not measured are priced by the table's fit", "[cost][table]") {
  const auto cluster = std::make_shared<const Cluster>(test::dgx1v_cluster(2));
  CollectiveFit fit;
  fit.ranks = {8};
  FitSegment segment;
  segment.chunk_last = Bytes{1 << 30};
  segment.launch = 10_us;
  segment.hop_local = 2_us;
  segment.protocol = "simple";
  fit.segments = {segment};
  CollectiveTable measured;
  measured.series.push_back({CollectiveKind::all_reduce, 8, 1, {row(1, 20), row(1024, 100)}});
  measured.fits = {fit};
  const MeasuredTable late(measured, cluster, one_second(Seconds{5e-3}));
  const MeasuredTable table(std::move(measured), cluster, one_second());
  const auto planned = [&](int nodes, int each) {
    return plan_ring_all_reduce(
        *cluster, packed_placement(std::vector<int>(static_cast<std::size_t>(nodes), each)));
  };
  const Bytes size{8'000'000};
  // 3 ranks: 2 rings of a lane; 10 us + 4 * 2 us + 8 MB * (4/3) / (2 * 22.5 GB/s).
  const CollectiveCost cost = price(table, planned(1, 3), size);
  CHECK(cost.source == "fit");
  CHECK(cost.protocol == "simple");
  CHECK(cost.uncontended.value().count() ==
        Approx(18e-6 + 8e6 * 4 / 3 / (2 * test::lane_rate)).epsilon(1e-9));
  CHECK(price(table, planned(1, 8), kib(1)).source == "table");
  // Messages that come before their receives follow the ranks: no fit of fewer tells them.
  CHECK(price(late, planned(1, 3), size).uncontended == Seconds{5e-3});
  // The fit is of NVLink: two machines go by the fallback.
  CHECK(price(table, planned(2, 4), size).uncontended == Seconds{1});
}

TEST_CASE("A row's algorithm and protocol are named where known", "[cost][table]") {
  const MeasuredTable table = table_of({{Bytes{1024}, 20_us, "tree", "ll"}, row(1024, 100)});
  const CollectiveCost small = price(table, pattern_of(8, 1), Bytes{1000});
  CHECK(small.algorithm == "tree");
  CHECK(small.protocol == "ll");
  const CollectiveCost large = price(table, pattern_of(8, 1), Bytes{2000});
  CHECK(large.algorithm == "ring");
  CHECK(large.protocol.empty());
}

}  // namespace gradwire
