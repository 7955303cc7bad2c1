#include "calibration/import/execution_trace.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "calibration/attribution/trace_index.hpp"
#include "calibration/import/compressed_file.hpp"
#include "calibration/import/json_file.hpp"
#include "calibration/trace/check_times.hpp"
#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"

namespace gradwire::calibration {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view expected_nodes =
    "expected an execution trace of PyTorch, or one linked by Chakra";
constexpr double microseconds_max = 1e15;  // sums of two stay below instant_max
constexpr double nanoseconds_per_microsecond = 1000;

/// One node, whichever schema it was written in.
struct Node {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string_view name;
  std::int64_t order = 0;  ///< of its begin (rf_id)
  std::int64_t sequence = no_sequence;
  std::uint32_t thread = 0;
  std::uint32_t stream = 0;
  std::string shapes;
  std::string_view category;       ///< of a device record
  std::optional<double> start;     ///< microseconds
  std::optional<double> duration;  ///< microseconds
};

/// Sides of each tensor; of lists and scalars "[]".
std::string shapes_text(const dom::element& value) {
  dom::array inputs;
  if (value.get(inputs) != simdjson::SUCCESS) return "";
  std::string text = "[";
  for (const dom::element input : inputs) {
    std::string sides;
    dom::array shape;
    if (input.get(shape) == simdjson::SUCCESS) {
      for (const dom::element side : shape) {
        std::int64_t length = 0;
        if (side.get(length) != simdjson::SUCCESS) {
          sides.clear();
          break;
        }
        sides += fmt::format("{}{}", sides.empty() ? "" : ", ", length);
      }
    }
    text += fmt::format("{}[{}]", text.size() == 1 ? "" : ", ", sides);
  }
  return text + "]";
}

class Reader {
 public:
  /// @param text  must outlive it.
  Reader(const std::string& text, const std::string& file) : text_(text) {
    trace_.file = file;
    trace_.tool = "PyTorch execution trace";
  }

  Trace run() {
    dom::parser parser;
    dom::element document;
    dom::array nodes;
    if (const auto error = parser.parse(text_).get(document); error != simdjson::SUCCESS) {
      // This parser does not tell where, the other one stops there.
      static_cast<void>(parse_json(text_, trace_.file));
      fail({trace_.file, 1, 1}, "the JSON is damaged or breaks off");
    }
    if (document["nodes"].get(nodes) != simdjson::SUCCESS) {
      fail({trace_.file, 1, 1}, "no list 'nodes'");
    }
    if (nodes.size() > trace_nodes.most) fail({trace_.file, 1, 1}, over(trace_nodes));
    nodes_.reserve(nodes.size());
    for (const dom::element node : nodes) read(node);
    if (nodes_.empty()) fail({trace_.file, 1, 1}, "no node");
    // Times count only where the device's are there as well.
    timed_ = std::ranges::any_of(nodes_, [](const Node& node) { return !node.category.empty(); });
    if (timed_) {
      trace_.tool = "Chakra trace link of PyTorch";
      for (const Node& node : nodes_) keep_timed(node);
    } else {
      keep_order();
    }
    check_times(trace_);
    tell_missing();
    return std::move(trace_);
  }

 private:
  [[noreturn]] static void fail(const SourceLocation& where, const std::string& what) {
    throw ConfigError(where, fmt::format("{}; {}", what, expected_nodes));
  }
  /// Where a node of the list begins: found again by the reader that knows places.
  [[nodiscard]] SourceLocation place_of(std::size_t node) const {
    constexpr std::size_t node_max = 1000;  // it reads small files only
    if (node >= node_max || nodes_.capacity() > node_max) return {trace_.file, 1, 1};
    return parse_json(text_, trace_.file).find("nodes")->items.at(node).where;
  }

  template <class Value>
  static void take(const dom::element& object, std::string_view key, Value& value) {
    Value read{};
    if (object[key].get(read) == simdjson::SUCCESS) value = read;
  }
  static void take_number(const dom::element& value, std::uint32_t& number) {
    std::uint64_t read = 0;
    if (value.get(read) == simdjson::SUCCESS && read <= UINT32_MAX) {
      number = static_cast<std::uint32_t>(read);
    }
  }
  static std::optional<double> microseconds(const dom::element& object, std::string_view key) {
    double value = 0;
    if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
  }

  /// A member of the node (schema 1.0.1), or of its list `attrs` (since 1.0.2).
  static void attribute(std::string_view key, const dom::element& value, Node& node) {
    std::int64_t number = 0;
    if (key == "rf_id" && value.get(number) == simdjson::SUCCESS) node.order = number;
    if (key == "seq_id" && value.get(number) == simdjson::SUCCESS && number >= 0) {
      node.sequence = number;
    }
    if (key == "tid") take_number(value, node.thread);
  }

  void read(const dom::element& object) {
    Node node;
    if (object["id"].get(node.id) != simdjson::SUCCESS ||
        object["name"].get(node.name) != simdjson::SUCCESS) {
      fail(place_of(nodes_.size()), "a node without 'id' and 'name'");
    }
    take(object, "parent", node.parent);
    take(object, "ctrl_deps", node.parent);
    take(object, "cat", node.category);
    node.start = microseconds(object, "ts");
    node.duration = microseconds(object, "inclusive_dur");
    dom::element value;
    for (const std::string_view key : {"rf_id", "seq_id", "tid"}) {
      if (object[key].get(value) == simdjson::SUCCESS) attribute(key, value, node);
    }
    if (object["stream"].get(value) == simdjson::SUCCESS) take_number(value, node.stream);
    dom::array attributes;
    if (object["attrs"].get(attributes) == simdjson::SUCCESS) {
      for (const dom::element entry : attributes) {
        std::string_view key;
        if (entry["name"].get(key) == simdjson::SUCCESS &&
            entry["value"].get(value) == simdjson::SUCCESS) {
          attribute(key, value, node);
        }
      }
    }
    if (object["input_shapes"].get(value) == simdjson::SUCCESS ||
        object["inputs"]["shapes"].get(value) == simdjson::SUCCESS) {
      node.shapes = shapes_text(value);
    }
    nodes_.push_back(std::move(node));
  }

  RangeRecord range_of(const Node& node) {
    RangeRecord range;
    range.name = trace_.names.id(node.name);
    range.domain = trace_.names.id("cpu_op");
    range.thread = node.thread;
    range.sequence = node.sequence;
    range.external = node.id;
    if (!node.shapes.empty()) range.shapes = trace_.names.id(node.shapes);
    return range;
  }

  Nanoseconds nanoseconds(const Node& node, double value, const char* what) const {
    if (!(value >= 0 && value <= microseconds_max)) {
      fail(place_of(static_cast<std::size_t>(&node - nodes_.data())),
           fmt::format("node {} '{}' has {} {} us", node.id, node.name, what, value));
    }
    return std::llround(nanoseconds_per_microsecond * value);
  }

  void keep_timed(const Node& node) {
    if (!node.start || !node.duration) return;  // threads and annotations without a time
    const Nanoseconds start = nanoseconds(node, *node.start, "ts");
    const Nanoseconds end = start + nanoseconds(node, *node.duration, "inclusive_dur");
    if (node.category.empty()) {
      RangeRecord range = range_of(node);
      range.start = start;
      range.end = end;
      trace_.ranges.push_back(range);
      return;
    }
    DeviceRecord record;
    record.start = start;
    record.end = end;
    record.name = trace_.names.id(node.name);
    record.stream = node.stream;
    record.correlation = static_cast<std::uint32_t>(trace_.device.size() + 1);
    if (node.category == "gpu_memcpy") record.kind = DeviceKind::copy;
    if (node.category == "gpu_memset") record.kind = DeviceKind::memset;
    trace_.links.push_back({record.correlation, node.parent});
    trace_.device.push_back(record);
  }

  /// Begins and ends by the tree of parents, in the order of begin.
  void keep_order() {
    std::ranges::stable_sort(nodes_, {},
                             [](const Node& node) { return std::pair(node.thread, node.order); });
    std::vector<std::pair<std::uint64_t, std::size_t>> open;  // node, its range
    Nanoseconds now = 0;
    const auto close = [&] {
      trace_.ranges[open.back().second].end = now++;
      open.pop_back();
    };
    for (const Node& node : nodes_) {
      // A node's parent is open, unless it is none of the operators: then nothing is.
      while (!open.empty() && open.back().first != node.parent) close();
      RangeRecord range = range_of(node);
      range.start = now++;
      open.emplace_back(node.id, trace_.ranges.size());
      trace_.ranges.push_back(range);
    }
    while (!open.empty()) close();
  }

  void tell_missing() {
    if (!timed_)
      trace_.missing.emplace_back("times (PyTorch writes them into the profiler's trace)");
    if (std::ranges::none_of(trace_.ranges, [](const RangeRecord& range) {
          return range.sequence != no_sequence;
        })) {
      trace_.missing.emplace_back("sequence numbers of autograd nodes");
    }
  }

  const std::string& text_;
  Trace trace_;
  std::vector<Node> nodes_;
  bool timed_ = false;
};

/// The framework's operators of each thread in the order of their begin.
std::map<std::uint32_t, std::vector<RangeId>> operators_of(const Trace& trace) {
  std::map<std::uint32_t, std::vector<RangeId>> operators;
  const std::vector<RangeMeaning> meanings = range_meanings(trace.names);
  for (RangeId id = 0; id < trace.ranges.size(); ++id) {
    if (meanings[trace.ranges[id].name].operation) operators[trace.ranges[id].thread].push_back(id);
  }
  for (auto& [thread, ids] : operators) {
    std::ranges::sort(ids, [&](RangeId a, RangeId b) {
      const RangeRecord& x = trace.ranges[a];
      const RangeRecord& y = trace.ranges[b];
      return std::tie(x.start, y.end, a) < std::tie(y.start, x.end, b);
    });
  }
  return operators;
}

/// The names of ranges as ids of another table, which learns those that it lacks.
std::vector<NameId> names_in(NameTable& names, const Trace& trace,
                             const std::vector<RangeId>& ranges) {
  std::vector<NameId> ids;
  ids.reserve(ranges.size());
  for (const RangeId id : ranges) ids.push_back(names.id(trace.names[trace.ranges[id].name]));
  return ids;
}

/// Where `wanted` stands in `names`, none overlapping another (Knuth, Morris and Pratt 1977: a
/// hostile pair of traces is compared in linear time).
std::vector<std::size_t> places_of(const std::vector<NameId>& wanted,
                                   const std::vector<NameId>& names) {
  if (wanted.empty()) return {};
  std::vector<std::size_t> border(wanted.size(), 0);  // of each beginning of `wanted`
  const auto advance = [&](std::size_t matched, NameId name) {
    while (matched > 0 && wanted[matched] != name) matched = border[matched - 1];
    return wanted[matched] == name ? matched + 1 : matched;
  };
  for (std::size_t i = 1; i < wanted.size(); ++i) border[i] = advance(border[i - 1], wanted[i]);
  std::vector<std::size_t> places;
  std::size_t matched = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    matched = advance(matched, names[i]);
    if (matched < wanted.size()) continue;
    places.push_back(i + 1 - wanted.size());
    matched = 0;
  }
  return places;
}

}  // namespace

Trace parse_execution_trace(const std::string& text, const std::string& file) {
  return Reader(text, file).run();
}

Trace read_execution_trace(const std::string& file) {
  return parse_execution_trace(read_compressed(file, "an execution trace of PyTorch"), file);
}

std::size_t complete_from(Trace& timed, const Trace& execution) {
  std::size_t completed = 0;
  const auto targets = operators_of(timed);
  std::vector<std::pair<const std::vector<RangeId>*, std::vector<NameId>>> named;
  named.reserve(targets.size());
  for (const auto& [thread, ranges] : targets) {
    named.emplace_back(&ranges, names_in(timed.names, timed, ranges));
  }
  for (const auto& [thread, sources] : operators_of(execution)) {
    const std::vector<NameId> wanted = names_in(timed.names, execution, sources);
    for (const auto& [ranges, names] : named) {
      if (names.size() < wanted.size()) continue;
      for (const std::size_t first : places_of(wanted, names)) {
        for (std::size_t i = 0; i < sources.size(); ++i) {
          const NameId shapes = execution.ranges[sources[i]].shapes;
          if (shapes == no_name) continue;
          timed.ranges[(*ranges)[first + i]].shapes = timed.names.id(execution.names[shapes]);
        }
        completed += sources.size();
      }
    }
  }
  if (completed == 0) {
    throw ConfigError(
        {execution.file, 0, 0},
        fmt::format("none of its operators are in '{}' in the same order; expected an "
                    "execution trace of the same iteration",
                    timed.file));
  }
  return completed;
}

}  // namespace gradwire::calibration
