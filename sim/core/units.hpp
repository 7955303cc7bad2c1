#pragma once

#include <compare>
#include <cstdint>

namespace gradwire {

/// One physical quantity in its base unit. Adding or comparing two different quantities does not
/// compile; the products that make sense are spelled out below the class.
template <class Unit, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep count) : count_(count) {}

  /// The number of base units.
  [[nodiscard]] constexpr Rep count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity{a.count_ + b.count_};
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity{a.count_ - b.count_};
  }
  friend constexpr Quantity operator*(Rep factor, Quantity q) {
    return Quantity{factor * q.count_};
  }

 private:
  Rep count_{};
};

using Seconds = Quantity<struct SecondUnit, double>;
using Bytes = Quantity<struct ByteUnit, std::int64_t>;
using BytesPerSecond = Quantity<struct BytePerSecondUnit, double>;
using Hertz = Quantity<struct HertzUnit, double>;
using Watts = Quantity<struct WattUnit, double>;

/// Serialisation time of `size` at `rate`, without latency.
constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds{static_cast<double>(size.count()) / rate.count()};
}
/// The rate at which `size` moves when it takes `time`.
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond{static_cast<double>(size.count()) / time.count()};
}
constexpr double operator/(Seconds a, Seconds b) {
  return a.count() / b.count();
}
constexpr double operator/(BytesPerSecond a, BytesPerSecond b) {
  return a.count() / b.count();
}
constexpr double operator/(Hertz a, Hertz b) {
  return a.count() / b.count();
}
constexpr double operator/(Watts a, Watts b) {
  return a.count() / b.count();
}

namespace literals {
constexpr Seconds operator""_us(unsigned long long n) {
  return Seconds{static_cast<double>(n) * 1e-6};
}
constexpr Seconds operator""_ms(unsigned long long n) {
  return Seconds{static_cast<double>(n) * 1e-3};
}
constexpr Bytes operator""_MB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) * 1'000'000};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) * 1024 * 1024};
}
/// Gigabytes per second, 10^9 bytes.
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
  return BytesPerSecond{static_cast<double>(n) * 1e9};
}
/// Gigabits per second, as on a network card's label.
constexpr BytesPerSecond operator""_Gbps(unsigned long long n) {
  return BytesPerSecond{static_cast<double>(n) * 1e9 / 8};
}
}  // namespace literals

}  // namespace gradwire
