#include "sim/report/plan_report.hpp"

#include <algorithm>
#include <iterator>

#include "sim/core/outgoing_text.hpp"
#include "sim/core/readable_bytes.hpp"

namespace gradwire {
namespace {

std::string span_of(const PlanRow& row) {
  if (row.first.empty() || row.first == row.last) return row.first;
  return row.first + " ... " + row.last;
}

/// "server 3" of "server 3, part 2 of 5"; "" where the note names no server.
std::string server_of(const PlanRow& row) {
  return row.note.starts_with("server ") ? row.note.substr(0, row.note.find(',')) : "";
}

struct ServerLoad {
  std::string place;
  std::size_t groups = 0;
  std::int64_t bytes = 0;
};

/// What each server gets, in the order in which they first appear.
std::string server_table(const PlanReport& report) {
  std::vector<ServerLoad> loads;
  for (const PlanRow& row : report.rows) {
    const std::string server = server_of(row);
    if (server.empty()) continue;
    auto load = std::find_if(loads.begin(), loads.end(),
                             [&](const ServerLoad& known) { return known.place == server; });
    if (load == loads.end()) {
      loads.push_back({server});
      load = loads.end() - 1;
    }
    ++load->groups;
    load->bytes += row.bytes;
  }
  std::string text;
  for (const ServerLoad& load : loads) {
    if (text.empty()) text = "\nBy server:\n";
    text += plain_format("  {:<12}{:>6} groups{:>13}\n", load.place, load.groups,
                         readable_bytes(static_cast<double>(load.bytes)));
  }
  return text;
}

}  // namespace

std::string plan_table(const PlanReport& report) {
  std::size_t note_width = 0;
  for (const PlanRow& row : report.rows) note_width = std::max(note_width, row.note.size());
  if (note_width > 0) note_width += 2;
  std::string text =
      plain_format("{:>6}{:>9}{:>13}{:>13}{:>11}  {:<{}}{}\n", "group", "tensors", "elements",
                   "moves", "ready (ms)", note_width > 0 ? "note" : "", note_width, "from ... to");
  std::size_t index = 0;
  for (const PlanRow& row : report.rows) {
    text += plain_format("{:>6}{:>9}{:>13}{:>13}{:>11.2f}  {:<{}}{}\n", index++, row.tensors,
                         row.elements, readable_bytes(static_cast<double>(row.bytes)),
                         1e3 * row.ready_last, row.note, note_width, span_of(row));
  }
  return text + server_table(report);
}

std::string exchange_table(const PlanReport& report) {
  if (report.exchanges.empty()) return "";
  std::size_t width = std::size("exchange");
  for (const PlanExchange& exchange : report.exchanges) {
    width = std::max(width, exchange.name.size() + 2);
  }
  std::string text = plain_format("{:<{}}{:>8}{:>10}{:>12}{:>13}\n", "exchange", width, "phases",
                                  "messages", "x its size", "connections");
  for (const PlanExchange& exchange : report.exchanges) {
    text += plain_format("{:<{}}{:>8}{:>10}{:>12.2f}{:>13}\n", exchange.name, width,
                         exchange.phases, exchange.messages, exchange.volume, exchange.connections);
  }
  return text;
}

}  // namespace gradwire
