#include "sim/report/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"
#include "sim/core/tensor_timeline.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/svg.hpp"
#include "sim/report/timeline.hpp"

namespace gradwire {
namespace {

// Pixels.
constexpr double picture_width = 1200;
constexpr double timeline_left = 146;
constexpr double timeline_right = 24;
constexpr double head_height = 84;
constexpr double worker_height = 26;
constexpr double row_height = 36;
constexpr double row_bar_height = 28;
constexpr double axis_height = 52;
constexpr double letter_width = 6.3;  ///< mean, of the labels in bars (11 px sans-serif)

constexpr std::string_view outside_text = "#444444";

struct Style {
  std::string_view name;
  std::string_view fill;
  std::string_view text;
};
/// In the order of SpanKind; hues from Okabe and Ito's palette, told apart by colour-blind readers.
constexpr std::array<Style, span_kinds> styles = {{{"forward", "#8ecbee", "#10324a"},
                                                   {"backward", "#2f7fb8", "#ffffff"},
                                                   {"optimizer", "#c77ba9", "#ffffff"},
                                                   {"copy", "#e8a317", "#3a2800"},
                                                   {"communication", "#1f9d77", "#ffffff"},
                                                   {"host", "#8a8f98", "#ffffff"},
                                                   {"waiting", "url(#wait)", "#555555"},
                                                   {"other", "#c9ccd1", "#333333"}}};

const Style& style_of(SpanKind kind) {
  return styles[static_cast<std::size_t>(kind)];
}

/// Seconds to pixels.
struct Scale {
  double origin = 0;
  double duration = 0;
  [[nodiscard]] double width(double seconds) const {
    return seconds / duration * (picture_width - timeline_left - timeline_right);
  }
  [[nodiscard]] double x(double seconds) const { return timeline_left + width(seconds - origin); }
};

Scale scale_of(const std::vector<Span>& spans) {
  Scale scale{.origin = timeline_start(spans)};
  for (const Span& span : spans) {
    scale.duration = std::max(scale.duration, span.start + span.duration - scale.origin);
  }
  return scale;
}

class Picture {
 public:
  Picture(const Point& point, double height) : scale_(scale_of(point.result.spans)) {
    text_ = svg_open(picture_width, height);
    put(R"svg(<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" )svg"
        R"svg(patternTransform="rotate(45)"><rect width="6" height="6" fill="#f1f2f4"/>)svg"
        R"svg(<rect width="1.5" height="6" fill="#b9bec6"/></pattern></defs>)svg"
        "\n");
  }

  void title(const Point& point) {
    const RunResult& r = point.result;
    put(R"(<text x="{}" y="30" font-size="18" font-weight="bold">{} on {} GPU{}, {}{}</text>)"
        "\n",
        timeline_left, xml_text(point.model), r.world_size, r.world_size == 1 ? "" : "s",
        xml_text(point.strategy), point.label.empty() ? "" : " (" + xml_text(point.label) + ")");
    const double mean = metrics_of(r).mean;
    const double exposed = seconds_of(r, Part::exposed_communication);
    put(R"(<text x="{}" y="30" text-anchor="end" fill="#555555">mean iteration {:.1f} ms, )"
        "exposed communication {:.1f} ms</text>\n",
        picture_width - timeline_right, 1e3 * mean, 1e3 * exposed);
  }

  void legend(const std::vector<Span>& spans) {
    double x = timeline_left;
    for (std::size_t kind = 0; kind < styles.size(); ++kind) {
      const auto shows = [&](const Span& s) {
        return static_cast<std::size_t>(kind_of(s)) == kind;
      };
      if (std::none_of(spans.begin(), spans.end(), shows)) continue;
      put(R"(<rect x="{:.1f}" y="48" width="14" height="14" rx="2" fill="{}"/>)"
          R"(<text x="{:.1f}" y="60">{}</text>)"
          "\n",
          x, styles[kind].fill, x + 20, styles[kind].name);
      x += 44 + 7.0 * static_cast<double>(styles[kind].name.size());
    }
  }

  void axis(double top, double bottom) {
    const double tick = axis_tick(scale_.duration);
    const int digits = tick < 1e-4 ? 2 : tick < 1e-3 ? 1 : 0;
    for (int i = 0; i * tick <= scale_.duration; ++i) {
      const double x = scale_.x(scale_.origin + i * tick);
      put(R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#e3e5e8"/>)"
          R"(<text x="{0:.1f}" y="{3}" text-anchor="middle" fill="#555555">{4:.{5}f}</text>)"
          "\n",
          x, top, bottom + 6, bottom + 22, 1e3 * i * tick, digits);
    }
    put(R"(<text x="{}" y="{}" text-anchor="end" fill="#555555">time (ms)</text>)"
        "\n",
        picture_width - timeline_right, bottom + 40);
  }

  void worker(const std::string& name, double y) {
    put(R"(<text x="12" y="{:.1f}" font-weight="bold">{}</text>)"
        "\n",
        y + worker_height - 8, xml_text(name));
  }

  void row(const TimelineRow& row, double y) {
    put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)"
        "\n",
        timeline_left - 12, y + row_bar_height / 2 + 4.5, xml_text(row.resource));
    double taken = timeline_left;  // pixels of the row that bars and labels have used up
    for (std::size_t i = 0; i < row.spans.size(); ++i) {
      bar(*row.spans[i], y);
      const bool last = i + 1 == row.spans.size();
      const double room = last ? picture_width - timeline_right : scale_.x(row.spans[i + 1]->start);
      taken = label(*row.spans[i], y, taken, room);
    }
  }

  std::string finish() && { return text_ + "</svg>\n"; }

 private:
  void bar(const Span& span, double y) {
    const Style& style = style_of(kind_of(span));
    const double x = scale_.x(span.start);
    const double width = std::max(0.3, scale_.width(span.duration));
    // A hair of background between bars that are wide enough to spare it.
    const double gap = width > 2 ? 0.5 : 0;
    put(R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{}" fill="{}"><title>{}: {:.3f} ms)",
        x, y, width - gap, row_bar_height, style.fill, xml_text(span.name), 1e3 * span.duration);
    if (span.bytes > 0) put(", {}", readable_bytes(static_cast<double>(span.bytes)));
    if (!span.cause.empty()) put(" ({})", xml_text(span.cause));
    put("</title></rect>\n");
  }

  /// Names a bar: inside it, or beside it when it carries bytes; not at all without the room.
  /// @return up to where the row is used.
  double label(const Span& span, double y, double taken, double room) {
    constexpr double margin = 4;
    const double begin = scale_.x(span.start);
    const double end = begin + scale_.width(span.duration);
    std::vector<std::string> names = {span.name};
    if (span.bytes > 0) {
      names.insert(names.begin(),
                   span.name + ", " + readable_bytes(static_cast<double>(span.bytes)));
    }
    for (const std::string& name : names) {
      const double width = letter_width * static_cast<double>(name.size()) + margin;
      if (width + margin < end - begin) {
        put_label(name, (begin + end) / 2, y, "middle", style_of(kind_of(span)).text);
      } else if (span.bytes > 0 && end + margin + width < room) {
        put_label(name, end + margin, y, "start", outside_text);
        return end + margin + width;
      } else if (span.bytes > 0 && taken + margin + width < begin) {
        put_label(name, begin - margin, y, "end", outside_text);
      } else {
        continue;
      }
      break;
    }
    return end;
  }

  void put_label(const std::string& text, double x, double y, std::string_view anchor,
                 std::string_view fill) {
    put(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="11" fill="{}" )"
        R"(pointer-events="none">{}</text>)"
        "\n",
        x, y + row_bar_height / 2 + 4, anchor, fill, xml_text(text));
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

  Scale scale_;
  std::string text_;
};

}  // namespace

std::string timeline_svg(const Point& point) {
  // A row a tensor is for viewers that scroll.
  std::vector<Span> spans = point.result.spans;
  std::erase_if(spans, [](const Span& span) { return span.worker == tensor_timeline; });
  assert(!spans.empty());
  const std::vector<TimelineRow> rows = timeline_rows(spans);
  double bottom = head_height;
  std::vector<double> tops;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].worker != rows[i - 1].worker) bottom += worker_height;
    tops.push_back(bottom);
    bottom += row_height;
  }
  Picture picture(point, bottom + axis_height);
  picture.title(point);
  picture.legend(spans);
  picture.axis(head_height, bottom);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].worker != rows[i - 1].worker) {
      picture.worker(rows[i].worker, tops[i] - worker_height);
    }
    picture.row(rows[i], tops[i]);
  }
  return std::move(picture).finish();
}

}  // namespace gradwire
