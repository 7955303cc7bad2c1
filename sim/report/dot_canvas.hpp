#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/node_graph.hpp"
#include "sim/report/topology_layout.hpp"

namespace gradwire {

/// Sizes of a topology's drawing in points, as DOT's `pos` wants them.
constexpr double row_pitch = 64;
constexpr double box_width = 54;
constexpr double box_height = 24;
constexpr double frame_margin = 12;     ///< between a frame and what it holds
constexpr double points_per_inch = 72;  ///< DOT's `width` and `height` are in inches

constexpr double font_size = 10;  ///< of boxes and the note
constexpr double line_height = 13;

/// The part of the paper that is drawn on.
struct Box {
  double left = 0;
  double bottom = 0;
  double right = 0;
  double top = 0;

  /// Grows to hold a device at this place with a frame around it.
  void cover(const Place& at, double margin = frame_margin);
  void cover(const Box& other);
};

/// "22.5": GB/s without trailing zeros.
[[nodiscard]] std::string rate_text(BytesPerSecond rate);

/// Room for the widest of a label's lines, which line ends part, in points. Who looks at an SVG has
/// a font of his own: the mean letter of a wide one (DejaVu Sans) is assumed.
[[nodiscard]] double text_width(std::string_view label, double size = font_size);

/// Text with line ends for those spaces where a line would become wider.
[[nodiscard]] std::string wrapped(const std::string& text, double width);

/// Text in Graphviz DOT whose lines have fixed positions (`layout=nop2`): Graphviz only draws.
class DotCanvas {
 public:
  /// The names of a drawn line's two ends.
  struct Ends {
    std::string a;
    std::string b;
  };

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  /// A straight line. @param where  the figure stands, as a share of the way from `a` to `b`.
  void line(const Ends& ends, const Link& link, const Place& a, const Place& b, double where,
            const std::string& figure);
  /// A bow between two points of one height that rises by 3/4 of `height`.
  void arc(const Ends& ends, const Link& link, const Place& a, const Place& b, double height,
           const std::string& figure);

  [[nodiscard]] const std::string& text() const { return text_; }

  Box used;

 private:
  void curve(const Ends& ends, const Link& link, const std::vector<Place>& points,
             const Place& label, const std::string& figure);

  std::string text_;
};

}  // namespace gradwire
