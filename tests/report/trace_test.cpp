#include <map>
#include <nlohmann/json.hpp>

#include "sim/report/chrome_trace.hpp"
#include "sim/report/timeline.hpp"
#include "sim/report/timeline_svg.hpp"
#include "tests/catch.hpp"
#include "tests/report/points.hpp"

namespace gradwire {
namespace {

Point traced(const std::string& label) {
  Point point = make_point(label, 2, {{0.1, 2}});
  point.result.spans = {{"communication",
                         "rank 1",
                         "bucket <0>",
                         2.05,
                         0.01,
                         8'196'000,
                         {"fc.bias", "fc.weight"},
                         "rank 0"},
                        {"compute", "rank 1", "forward conv1", 2.0, 0.03, 0, {}, ""},
                        {"compute", "rank 1", "backward conv1", 2.03, 0.06, 0, {}, ""},
                        {"compute", "rank 1", "wait", 2.09, 0.002, 0, {}, "bucket <0>"},
                        {"host", "rank 1", "hooks", 2.0, 0.01, 0, {}, ""}};
  return point;
}

TEST_CASE("The trace has a process a worker class and a thread a resource", "[report][trace]") {
  const std::vector<Point> points = {traced("a"), traced("b")};
  const auto json = nlohmann::json::parse(chrome_trace(points).dump());
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::pair<int, int>, double> ends;
  int bars = 0;
  for (const auto& event : json["traceEvents"]) {
    const std::pair key{event["pid"].get<int>(), event["tid"].get<int>()};
    if (event["name"] == "process_name") processes[key.first] = event["args"]["name"];
    if (event["name"] == "thread_name") threads[key] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    ++bars;
    // Bars of one row follow one another: each starts where the one before has ended, or later.
    CHECK(event["ts"].get<double>() >= ends[key]);
    ends[key] = event["ts"].get<double>() + event["dur"].get<double>();
  }
  CHECK(processes == std::map<int, std::string>{{0, "a: rank 1"}, {1, "b: rank 1"}});
  CHECK(threads == std::map<std::pair<int, int>, std::string>{{{0, 0}, "host"},
                                                              {{0, 1}, "compute"},
                                                              {{0, 2}, "communication"},
                                                              {{1, 0}, "host"},
                                                              {{1, 1}, "compute"},
                                                              {{1, 2}, "communication"}});
  CHECK(bars == 10);
}

TEST_CASE("Spans of one resource that overlap stand in rows of their own", "[report][trace]") {
  Point point = traced("");
  point.result.spans.push_back({"host", "rank 1", "loss", 2.005, 0.02, 0, {}, ""});
  point.result.spans.push_back({"host", "rank 1", "later", 2.01, 0.01, 0, {}, ""});
  std::map<std::string, int> rows;
  std::map<std::string, int> row_of_bar;
  const auto json = chrome_trace({&point, 1});
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") rows[event["args"]["name"]] = event["tid"].get<int>();
    if (event["ph"] == "X") row_of_bar[event["name"]] = event["tid"].get<int>();
  }
  CHECK(row_of_bar["hooks"] == rows["host"]);
  CHECK(row_of_bar["loss"] == rows["host 2"]);
  // It starts at the instant that the first one ends.
  CHECK(row_of_bar["later"] == rows["host"]);
}

TEST_CASE("Bars that touch do not overlap by a rounding error", "[report][trace]") {
  Point point = traced("");
  point.result.spans.clear();
  // 55 us is no binary fraction: summed up, bars overlap by 1e-11 us and viewers stack them.
  double now = 0.1;
  for (int i = 0; i < 1000; ++i) {
    point.result.spans.push_back({"host", "rank 0", "launch", now, 55e-6, 0, {}, ""});
    now += 55e-6;
  }
  const auto json = nlohmann::json::parse(chrome_trace({&point, 1}).dump());
  double end = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    CHECK(event["ts"].get<double>() == end);
    end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  CHECK(end == Approx(55'000));
}

TEST_CASE("A bar's times are microseconds from the first span, its args what it carries",
          "[report][trace]") {
  const std::vector<Point> points = {traced("")};
  const auto json = chrome_trace(points);
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] != "bucket <0>") continue;
    // It starts 50 ms after the first span and lasts 10 ms.
    CHECK(event["ts"].get<double>() == Approx(50'000));
    CHECK(event["dur"].get<double>() == Approx(10'000));
    CHECK(event["args"]["bytes"] == 8'196'000);
    CHECK(event["args"]["tensors"] == std::vector<std::string>{"fc.bias", "fc.weight"});
    CHECK(event["args"]["cause"] == "rank 0");
    return;
  }
  FAIL("the collective has no event");
}

TEST_CASE("The picture shows every resource, a legend of what occurs and escapes names",
          "[report][svg]") {
  const std::string svg = timeline_svg(traced(""));
  for (const char* part : {">host<", ">compute<", ">communication<", ">forward<", ">backward<",
                           ">waiting<", ">time (ms)<", "bucket &lt;0&gt;: 10.000 ms, 8.20 MB"}) {
    CHECK_THAT(svg, Catch::ContainsSubstring(part));
  }
  CHECK(svg.find(">optimizer<") == std::string::npos);
  CHECK(svg.find("<0>") == std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("Updates are the optimizer's, as the table counts them", "[report][svg]") {
  for (const char* name : {"optimizer", "update", "update shard", "update layer 3"}) {
    CHECK(kind_of({"compute", "rank 0", name, 0, 1, 0, {}, ""}) == SpanKind::optimizer);
  }
  CHECK(kind_of({"compute", "rank 0", "updated", 0, 1, 0, {}, ""}) == SpanKind::other);
  CHECK(kind_of({"host", "rank 0", "update", 0, 1, 0, {}, ""}) == SpanKind::host);
}

}  // namespace
}  // namespace gradwire
