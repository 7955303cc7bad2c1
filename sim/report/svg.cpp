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

std::string x_marks(double length, double top, double bottom, const AxisPlace& x) {
  std::string text;
  const double tick = axis_tick(length);
  for (int i = 0; i * tick <= length; ++i) {
    text +=
        fmt::format(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#e3e5e8"/>)"
                    R"(<text x="{0:.1f}" y="{3}" text-anchor="middle" fill="#555555">{4:g}</text>)"
                    "\n",
                    x(i * tick), top, bottom, bottom + 18, i * tick);
  }
  return text;
}

std::string y_marks(double length, double left, double right, const AxisPlace& y) {
  std::string text;
  const double tick = axis_tick(length);
  for (int i = 0; i * tick <= length; ++i) {
    text += fmt::format(R"(<line x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}" stroke="#e3e5e8"/>)"
                        R"(<text x="{3}" y="{4:.1f}" text-anchor="end" fill="#555555">{5:g}</text>)"
                        "\n",
                        left, y(i * tick), right, left - 8, y(i * tick) + 4, i * tick);
  }
  return text;
}

}  // namespace gradwire
