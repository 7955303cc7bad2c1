#include "sim/report/svg.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gradwire {

std::string svg_open(double width, double height) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
      R"(font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222222">)"
      "\n"
      R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
      "\n",
      width, height);
}

double axis_tick(double length) {
  const double power = std::pow(10, std::floor(std::log10(length / 8)));
  const double ratio = length / 8 / power;
  return power * (ratio >= 5 ? 5 : ratio >= 2 ? 2 : 1);
}

}  // namespace gradwire
