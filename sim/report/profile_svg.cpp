#include "sim/report/profile_svg.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/report/profile_text.hpp"
#include "sim/report/ready_curve.hpp"
#include "sim/report/svg.hpp"

namespace gradwire {
namespace {

// Pixels.
constexpr double profile_width = 900;
constexpr double profile_height = 440;
constexpr double profile_left = 84;
constexpr double profile_right = 28;
constexpr double profile_top = 64;
constexpr double profile_bottom = 384;

/// Layers with at least this share of all parameters are named.
constexpr double named_share = 0.04;
constexpr double label_height = 14;

struct Frame {
  double duration = 0;  ///< milliseconds
  double elements = 0;  ///< millions

  [[nodiscard]] double x(double ms) const {
    return profile_left + ms / duration * (profile_width - profile_left - profile_right);
  }
  [[nodiscard]] double y(double millions) const {
    return profile_bottom - millions / elements * (profile_bottom - profile_top);
  }
};

double ms(Seconds time) {
  return 1e3 * time.count();
}

double millions(std::int64_t elements) {
  return 1e-6 * static_cast<double>(elements);
}

std::string curve(const Frame& frame, const std::vector<ReadyStep>& steps) {
  std::string path = fmt::format("M{:.1f} {:.1f}", profile_left, profile_bottom);
  for (const ReadyStep& step : steps) {
    path +=
        fmt::format(" H{:.1f} V{:.1f}", frame.x(ms(step.time)), frame.y(millions(step.elements)));
  }
  path += fmt::format(" H{:.1f}", frame.x(frame.duration));
  return fmt::format(R"(<path d="{0} V{1:.1f} Z" fill="#8ecbee" fill-opacity="0.35"/>)"
                     R"(<path d="{0}" fill="none" stroke="#2f7fb8" stroke-width="2"/>)"
                     "\n",
                     path, profile_bottom);
}

/// Names of the large layers: left of their step where there is room, else right of it.
std::string labels(const Frame& frame, const std::vector<ReadyStep>& steps) {
  std::string text;
  double above = profile_height;  // y of the last label: the next one must stand clear of it
  for (const ReadyStep& step : steps) {
    if (millions(step.new_elements) < named_share * frame.elements) continue;
    const double x = frame.x(ms(step.time));
    const double middle = frame.y(millions(step.elements - step.new_elements / 2)) + 4;
    if (above - middle < label_height) continue;
    above = middle;
    const bool is_right = x < (profile_left + profile_width - profile_right) / 2;
    text += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="11">{}</text>)"
                        "\n",
                        is_right ? x + 6 : x - 6, middle, is_right ? "start" : "end",
                        xml_text(step.layer));
  }
  return text;
}

}  // namespace

std::string profile_svg(const ComputeProfile& profile) {
  const std::vector<ReadyStep> steps = ready_curve(profile);
  assert(!steps.empty() && profile.backward() > Seconds{0});
  const Frame frame{ms(profile.backward()), millions(profile.parameter_count())};
  std::string text = svg_open(profile_width, profile_height);
  text += fmt::format(
      R"(<text x="{0}" y="28" font-size="17" font-weight="bold">{1}</text>)"
      R"(<text x="{0}" y="48" fill="#555555">gradients ready during backward, millions of )"
      "parameters ({2})</text>\n",
      profile_left, xml_text(profile_title(profile)), xml_text(profile.source.kind));
  text += x_marks(frame.duration, profile_top, profile_bottom,
                  [&](double time) { return frame.x(time); });
  text += y_marks(frame.elements, profile_left, profile_width - profile_right,
                  [&](double part) { return frame.y(part); });
  text += curve(frame, steps) + labels(frame, steps);
  text += fmt::format(
      R"(<text x="{}" y="{}" text-anchor="end" fill="#555555">time since the start of backward (ms))"
      "</text>\n</svg>\n",
      profile_width - profile_right, profile_bottom + 40);
  return text;
}

}  // namespace gradwire
