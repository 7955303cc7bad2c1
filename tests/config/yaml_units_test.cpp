#include "sim/config/yaml/yaml_units.hpp"

#include "tests/catch.hpp"

using namespace gradwire;
using namespace gradwire::config;

namespace {

template <class T>
T read(const std::string& text) {
  return read_value<T>(parse_yaml(text, "s.yaml"), "key");
}

}  // namespace

TEST_CASE("quantities are read in every unit", "[config][units]") {
  CHECK(read<Seconds>("20 us").count() == Approx(20e-6));
  CHECK(read<Seconds>("1.5e3 ns").count() == Approx(1.5e-6));
  CHECK(read<Seconds>("97ms").count() == Approx(0.097));
  CHECK(read<Bytes>("25 MiB").count() == 25 * 1024 * 1024);
  CHECK(read<Bytes>("25 MB").count() == 25'000'000);
  CHECK(read<Bytes>("'1.5 KiB'").count() == 1536);
  // A bit is an eighth of a byte.
  CHECK(read<BytesPerSecond>("100 Gbit/s").count() == Approx(100e9 / 8));
  CHECK(read<BytesPerSecond>("2 GiB/s").count() == Approx(2.0 * 1024 * 1024 * 1024));
  CHECK(read<Ratio>("1.5 %").value == Approx(0.015));
}

TEST_CASE("a quantity without its unit, or with another's, is refused", "[config][units]") {
  const std::string size =
      "; expected a size such as '25 MiB' (units B, kB, MB, GB, KiB, MiB, GiB)";
  CHECK_THROWS_WITH(read<Bytes>("25"), "s.yaml:1:1: 'key' is '25', without a unit" + size);
  CHECK_THROWS_WITH(read<Bytes>("25 mib"), "s.yaml:1:1: 'key' is '25 mib', unknown unit 'mib'" +
                                               size + "; did you mean 'MiB'?");
  CHECK_THROWS_WITH(read<Bytes>("25 ms"), "s.yaml:1:1: 'key' is '25 ms', unknown unit 'ms'" + size);
  CHECK_THROWS_WITH(read<Bytes>("-1 MB"), "s.yaml:1:1: 'key' is '-1 MB', negative" + size);
  CHECK_THROWS_WITH(read<Bytes>("nan B"),
                    "s.yaml:1:1: 'key' is 'nan B', not a finite number" + size);
  CHECK_THROWS_WITH(read<Bytes>("inf B"),
                    "s.yaml:1:1: 'key' is 'inf B', not a finite number" + size);
  CHECK_THROWS_WITH(read<Bytes>("1e999 B"),
                    "s.yaml:1:1: 'key' is '1e999 B', not a finite number" + size);
  CHECK_THROWS_WITH(read<Bytes>("1e30 GB"), "s.yaml:1:1: 'key' is '1e30 GB', too large" + size);
  CHECK_THROWS_WITH(read<Bytes>("big"), "s.yaml:1:1: 'key' is 'big'" + size);
  CHECK_THROWS_WITH(read<Bytes>("[25 MiB]"), "s.yaml:1:1: 'key' is a list" + size);
  CHECK_THROWS_WITH(read<Bytes>("{}"), "s.yaml:1:1: 'key' is a mapping" + size);
  CHECK_THROWS_WITH(read<Bytes>(""), "s.yaml:1:1: 'key' is empty" + size);
}

TEST_CASE("a time is at most a million seconds", "[config][units]") {
  CHECK(read<Seconds>("1e6 s").count() == 1e6);
  CHECK_THROWS_WITH(read<Seconds>("1e308 s"),
                    "s.yaml:1:1: 'key' is '1e308 s', too long; expected a time such as '20 us' "
                    "(units s, ms, us, ns), at most 1000000 s");
}

TEST_CASE("a rate that no number holds is too large", "[config][units]") {
  CHECK(read<BytesPerSecond>("1e299 GB/s").count() == Approx(1e308));
  CHECK_THROWS_WITH(read<BytesPerSecond>("1e300 GB/s"),  // 1e309 B/s
                    Catch::StartsWith("s.yaml:1:1: 'key' is '1e300 GB/s', too large; expected"));
}

TEST_CASE("gigabits written as on a label are pointed at bits, not at bytes", "[config][units]") {
  CHECK_THROWS_WITH(read<BytesPerSecond>(GENERATE("10 Gb/s", "10 Gbps")),
                    Catch::ContainsSubstring("did you mean 'Gbit/s'?"));
}

TEST_CASE("counts, factors and switches are bare", "[config][units]") {
  CHECK(read<int>("50") == 50);
  CHECK(read<int>("-3") == -3);
  CHECK(read<double>("7.55e9") == Approx(7.55e9));
  CHECK(read<std::uint64_t>("18446744073709551615") == 18446744073709551615U);
  CHECK(read<bool>("true"));
  CHECK_FALSE(read<bool>("false"));
  CHECK(read<std::string>("1.10") == "1.10");  // text stays as written

  CHECK_THROWS_WITH(read<int>("5.5"), "s.yaml:1:1: 'key' is '5.5'; expected a whole number");
  CHECK_THROWS_WITH(read<int>("3 GB"), "s.yaml:1:1: 'key' is '3 GB'; expected a whole number");
  CHECK_THROWS_WITH(read<int>("99999999999"),
                    "s.yaml:1:1: 'key' is '99999999999', too large; expected a whole number");
  CHECK_THROWS_WITH(read<double>("nan"),
                    "s.yaml:1:1: 'key' is 'nan', not a finite number; expected a number");
  CHECK_THROWS_WITH(read<bool>("yes"), "s.yaml:1:1: 'key' is 'yes'; expected true or false");
  CHECK_THROWS_WITH(read<std::string>("[a]"), "s.yaml:1:1: 'key' is a list; expected text");
}

TEST_CASE("a number that YAML's versions and other languages read otherwise is refused",
          "[config][units]") {
  CHECK_THROWS_WITH(read<int>(GENERATE("0x10", "0o10", "1_000", "1,000", "1e3", "+8")),
                    Catch::EndsWith("'; expected a whole number"));
  CHECK_THROWS_WITH(read<double>(GENERATE(".inf", ".nan", "1e400", "0x10", "1_000")),
                    Catch::EndsWith("; expected a number"));
  CHECK_THROWS_WITH(read<int>("010"),
                    "s.yaml:1:1: 'key' is '010', with a zero in front, which is octal to some; "
                    "expected a whole number");
  CHECK_THROWS_WITH(read<double>("-010.5"), Catch::ContainsSubstring("with a zero in front"));
  CHECK_THROWS_WITH(read<Seconds>("020 us"), Catch::ContainsSubstring("with a zero in front"));
  CHECK(read<double>("0.5") == 0.5);
  CHECK(read<int>("-0") == 0);
  CHECK(read<std::string>("010") == "010");
}

TEST_CASE("a range says why it ends where nobody would guess", "[config][units]") {
  const Range<int> range{{}, 3, {}, "a triangle"};
  CHECK_THROWS_WITH(read_value(parse_yaml("2", "s.yaml"), "key", range),
                    "s.yaml:1:1: 'key' is '2'; expected a whole number, at least 3 (a triangle)");
}

TEST_CASE("a rate is shown in the largest unit of bytes of which it is one or more",
          "[config][units]") {
  CHECK(bound_text(BytesPerSecond{0}) == "0 B/s");
  CHECK(bound_text(BytesPerSecond{1e9 / 8}) == "125 MB/s");
  CHECK(bound_text(BytesPerSecond{136.512e9}) == "136.512 GB/s");
  CHECK(bound_text(BytesPerSecond{533e6}) == "533 MB/s");
  CHECK(bound_text(BytesPerSecond{0.5}) == "0.5 B/s");
}

TEST_CASE("a time is shown in the largest unit of which it is one or more", "[config][units]") {
  CHECK(bound_text(Seconds{0}) == "0 s");
  CHECK(bound_text(Seconds{1e6}) == "1000000 s");
  CHECK(bound_text(Seconds{0.1968e-3}) == "196.8 us");
  CHECK(bound_text(Seconds{1e-3}) == "1 ms");
  CHECK(bound_text(Seconds{0.25e-9}) == "0.25 ns");
}

TEST_CASE("a size is shown in the largest unit that is exact", "[config][units]") {
  CHECK(bound_text(Bytes{25 * 1024 * 1024}) == "25 MiB");
  CHECK(bound_text(Bytes{1'000'000}) == "1 MB");
  CHECK(bound_text(Bytes{1025}) == "1025 B");
  CHECK(bound_text(Bytes{0}) == "0 B");
}
