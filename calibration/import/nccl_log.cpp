#include "calibration/import/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "calibration/trace/nccl_names.hpp"
#include "sim/core/text_lines.hpp"

namespace gradwire {
namespace {

/// The part after "NCCL INFO ", or the whole line of a log that was cut to its messages.
std::string_view message_of(std::string_view line) {
  constexpr std::string_view label = "NCCL INFO ";
  const std::size_t found = line.find(label);
  return found == std::string_view::npos ? line : line.substr(found + label.size());
}

/// The parts of a line between bars.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('|', begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

std::string_view trimmed(std::string_view text) {
  const std::vector<Word> words = words_of(text);
  if (words.empty()) return {};
  const std::size_t begin = static_cast<std::size_t>(words.front().column) - 1;
  const Word& last = words.back();
  return text.substr(begin, static_cast<std::size_t>(last.column) - 1 + last.text.size() - begin);
}

/// A number that counts something; 0 where there is none, or it counts nothing.
int count_of(std::optional<long long> number) {
  return number && *number > 0 && std::in_range<int>(*number) ? static_cast<int>(*number) : 0;
}

class LogReader {
 public:
  explicit LogReader(const std::string& file) : file_(file) {}

  void read(const TextLine& line) {
    const std::string_view message = message_of(line.text);
    if (message.find(" Bytes -> Algo ") != std::string_view::npos) {
      read_choice(line, message);
    } else if (message.find("nChannels ") != std::string_view::npos &&
               trimmed(message).starts_with("Pattern ")) {
      read_graph(line, message);
    } else if (message.find('|') != std::string_view::npos) {
      read_tuning(line, message);
    } else {
      read_communicator(message);
    }
  }

  [[nodiscard]] NcclLog finish() {
    if (log_.choices.empty() && log_.tuning.empty() && log_.graphs.empty()) {
      throw ConfigError({file_, 1, 1},
                        "no line of NCCL's tuning; expected a log with NCCL_DEBUG=INFO and "
                        "NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING");
    }
    return std::move(log_);
  }

 private:
  [[noreturn]] void fail(const TextLine& line, std::string_view word, const std::string& what) {
    const auto offset = word.data() - line.text.data();
    throw ConfigError(line.at(file_, static_cast<int>(offset) + 1), what);
  }

  /// The word after `label` among the words of a line.
  std::string_view word_after(const TextLine& line, const std::vector<Word>& words,
                              std::string_view label) {
    const auto found = std::ranges::find(words, label, &Word::text);
    if (words.end() - found < 2) {
      fail(line, words.back().text, fmt::format("nothing after '{}'", label));
    }
    return (found + 1)->text;
  }

  void read_choice(const TextLine& line, std::string_view message) {
    const std::vector<Word> words = words_of(message);
    const auto bytes = std::ranges::find(words, "Bytes", &Word::text);
    NcclChoice choice;
    choice.line = line.number;
    if (bytes == words.begin()) fail(line, bytes->text, "no number before 'Bytes'");
    const std::string_view size = (bytes - 1)->text;
    const auto count = whole_number(size);
    if (!count || *count < 0) fail(line, size, fmt::format("'{}' is no number of bytes", size));
    choice.size = Bytes{*count};
    if (words.front().text.ends_with(':')) {
      choice.op = nccl_operation(words.front().text.substr(0, words.front().text.size() - 1));
    }
    const std::string_view algorithm = word_after(line, words, "Algo");
    const std::string_view protocol = word_after(line, words, "proto");
    choice.algorithm = nccl_algorithm(algorithm);
    choice.protocol = nccl_protocol(protocol);
    if (choice.algorithm.empty()) {
      fail(line, algorithm, fmt::format("'{}' is no algorithm of NCCL", algorithm));
    }
    if (choice.protocol.empty()) {
      fail(line, protocol, fmt::format("'{}' is no protocol of NCCL", protocol));
    }
    if (std::ranges::find(words, "time", &Word::text) != words.end()) {
      const std::string_view time = word_after(line, words, "time");
      const auto microseconds = number(time);
      if (!microseconds || *microseconds <= 0) {
        fail(line, time, fmt::format("'{}' is no time in microseconds", time));
      }
      choice.time = Seconds{*microseconds * 1e-6};
    }
    constexpr std::string_view span = "channel{Lo..Hi}={";
    if (const std::size_t found = message.find(span); found != std::string_view::npos) {
      const auto first = number_after(message, span);
      const auto last = number_after(message.substr(found + span.size()), "..");
      if (first && last && *first >= 0 && *last >= *first) {
        choice.channels = count_of(*last - *first + 1);
      }
    }
    if (choice.size.count() == 0) return;
    if (known_.emplace(choice.op, choice.size).second) log_.choices.push_back(std::move(choice));
  }

  void read_graph(const TextLine& line, std::string_view message) {
    NcclGraph graph;
    graph.pattern = count_of(number_after(message, "Pattern "));
    graph.channels = count_of(number_after(message, "nChannels "));
    // "bw 20.0/20.0" from 2.9 on, "speed 20.0/20.0" before.
    for (const Word& word : words_of(message)) {
      const std::size_t slash = word.text.find('/');
      const std::string_view rates =
          word.text.ends_with(',') ? word.text.substr(0, word.text.size() - 1) : word.text;
      if (slash == std::string_view::npos) continue;
      const auto inside = number(rates.substr(0, slash));
      const auto between = number(rates.substr(slash + 1));
      if (!inside || !between) continue;
      graph.inside = BytesPerSecond{*inside * 1e9};
      graph.between = BytesPerSecond{*between * 1e9};
    }
    if (number_after(message, "nChannels ").value_or(0) < 0 || graph.inside.count() < 0) {
      fail(line, message, "a graph line with a number below 0");
    }
    const bool known = std::ranges::any_of(log_.graphs, [&](const NcclGraph& other) {
      return other.pattern == graph.pattern && other.channels == graph.channels &&
             other.inside == graph.inside && other.between == graph.between;
    });
    if (graph.channels == 0 || known) return;
    constexpr std::size_t graphs_max = 64;  // NCCL has a handful of patterns
    if (log_.graphs.size() == graphs_max) {
      fail(line, message, fmt::format("more than {} different graphs", graphs_max));
    }
    log_.graphs.push_back(graph);
  }

  void read_tuning(const TextLine& line, std::string_view message) {
    const std::vector<std::string_view> cells = cells_of(message);
    const std::string_view title = trimmed(cells.front());
    if (title == "Algorithm") {
      columns_.clear();
      for (std::size_t i = 1; i < cells.size(); ++i) {
        const std::string name = nccl_algorithm(trimmed(cells[i]));
        if (!name.empty()) columns_.push_back(name);
      }
    } else if (title == "Protocol") {
      protocols_.clear();
      for (std::size_t i = 1; i < cells.size(); ++i) {
        for (const Word& word : words_of(cells[i])) protocols_.push_back(nccl_protocol(word.text));
      }
    } else if (const auto op = nccl_operation(title)) {
      read_tuning_row(line, *op, cells);
    }
  }

  void read_tuning_row(const TextLine& line, CollectiveKind op,
                       const std::vector<std::string_view>& cells) {
    std::size_t column = 0;
    // A torn log may have lost a part of either line.
    const bool whole = !columns_.empty() && protocols_.size() % columns_.size() == 0;
    const std::size_t each = whole ? protocols_.size() / columns_.size() : 0;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const std::string_view cell = trimmed(cells[i]);
      if (cell.empty()) continue;
      const std::size_t slash = cell.find('/');
      const auto latency = number(trimmed(cell.substr(0, slash)));
      const auto rate =
          slash == std::string_view::npos ? std::nullopt : number(trimmed(cell.substr(slash + 1)));
      if (!latency || !rate || each == 0 || column >= protocols_.size()) {
        fail(line, cell,
             fmt::format("'{}' is no cell of a tuning table; expected latency/bandwidth below "
                         "the lines Algorithm and Protocol, as many protocols for each algorithm",
                         cell));
      }
      NcclTuning tuning{op, columns_[column / each], protocols_[column], Seconds{*latency * 1e-6},
                        BytesPerSecond{*rate * 1e9}};
      const bool known = std::ranges::any_of(log_.tuning, [&](const NcclTuning& other) {
        return other.op == op && other.algorithm == tuning.algorithm &&
               other.protocol == tuning.protocol;
      });
      if (!known) log_.tuning.push_back(std::move(tuning));
      ++column;
    }
  }

  void read_communicator(std::string_view message) {
    for (const std::string_view label : {"nranks ", "nRanks "}) {
      const auto ranks = number_after(message, label);
      if (count_of(ranks) <= log_.ranks) continue;
      log_.ranks = count_of(ranks);
      log_.nodes = count_of(number_after(message, "nNodes "));
    }
    const auto nodes = number_after(message, "nNodes ");
    if (nodes && number_after(message, "nRanks ").value_or(0) == log_.ranks) {
      log_.nodes = count_of(nodes);
    }
    constexpr std::string_view label = "NCCL version ";
    if (const std::size_t found = message.find(label); found != std::string_view::npos) {
      const std::string_view rest = message.substr(found + label.size());
      constexpr std::size_t version_max = 20;  // "2.27.3"
      log_.version = rest.substr(0, std::min(rest.find_first_not_of("0123456789."), version_max));
    }
  }

  const std::string& file_;
  NcclLog log_;
  std::vector<std::string> columns_;  ///< algorithms of the tuning table's block
  std::vector<std::string> protocols_;
  std::set<std::pair<std::optional<CollectiveKind>, Bytes>> known_;  ///< of log_.choices
};

/// NCCL's prediction by the tuning table; nothing where the table has no such cell.
std::optional<Seconds> predicted(const NcclLog& log, CollectiveKind op, const NcclChoice& choice) {
  const auto cell = std::ranges::find_if(log.tuning, [&](const NcclTuning& tuning) {
    return tuning.op == op && tuning.algorithm == choice.algorithm &&
           tuning.protocol == choice.protocol && tuning.bandwidth.count() > 0;
  });
  if (cell == log.tuning.end()) return std::nullopt;
  return cell->latency + choice.size / cell->bandwidth;
}

std::string graph_notes(const NcclLog& log) {
  std::string text;
  for (const NcclGraph& graph : log.graphs) {
    text += fmt::format(
        "{}graph of pattern {}: {} channels at {:g} GB/s inside and {:g} GB/s between machines",
        text.empty() ? "" : "; ", graph.pattern, graph.channels, graph.inside.count() * 1e-9,
        graph.between.count() * 1e-9);
  }
  return text;
}

MeasuredSeries start_series(const NcclLog& log, const std::string& file, CollectiveKind op) {
  MeasuredSeries series;
  series.op = op;
  series.version = log.version;
  series.source = {"derived",
                   file.substr(file.rfind('/') + 1),
                   "NCCL_DEBUG=INFO",
                   {},
                   "what NCCL predicted and chose, not measured"};
  const std::string graphs = graph_notes(log);
  if (!graphs.empty()) series.source.notes += "; " + graphs;
  return series;
}

}  // namespace

NcclLog read_nccl_log(const std::string& text, const std::string& file) {
  LogReader reader(file);
  LineReader lines(text);
  while (const auto line = lines.next()) reader.read(*line);
  return reader.finish();
}

ImportedTables tables_of(const NcclLog& log, const std::string& file,
                         const NcclTestsOptions& options) {
  ImportedTables result;
  int from_table = 0;
  int without = 0;
  for (const NcclChoice& choice : log.choices) {
    const SourceLocation where{file, choice.line, 1};
    const std::optional<CollectiveKind> op = choice.op ? choice.op : options.op;
    if (!op) throw ConfigError(where, "the log does not name the operation; expected --op");
    const int ranks = options.ranks > 0 ? options.ranks : log.ranks;
    const int nodes = options.nodes > 0 ? options.nodes : log.nodes;
    if (ranks < 2 || nodes < 1 || nodes > ranks) {
      throw ConfigError(where, fmt::format("{} ranks on {} nodes by the log; expected at least 2 "
                                           "and one on each node, or --ranks and --nodes",
                                           ranks, nodes));
    }
    const std::optional<Seconds> time = choice.time ? choice.time : predicted(log, *op, choice);
    if (!time) {
      ++without;
      continue;
    }
    if (!choice.time) ++from_table;
    auto series = std::ranges::find(result.series, *op, &MeasuredSeries::op);
    if (series == result.series.end()) {
      series = result.series.insert(result.series.end(), start_series(log, file, *op));
      series->ranks = ranks;
      series->machines = nodes;
    }
    series->rows.push_back(
        {choice.size, *time, choice.algorithm, choice.protocol, choice.channels});
  }
  if (result.series.empty()) {
    throw ConfigError({file, 1, 1},
                      "the log has no choice with a time; expected lines '... Bytes -> Algo ...' "
                      "with a time, or a tuning table beside them; to name the rows of nccl-tests, "
                      "import nccl-tests with --nccl-log");
  }
  for (MeasuredSeries& series : result.series) {
    std::ranges::sort(series.rows, {}, &MeasuredRow::size);
  }
  if (from_table > 0) {
    result.notes.push_back(fmt::format(
        "{} times follow from the tuning table, without NCCL's corrections for single sizes",
        from_table));
  }
  if (without > 0) {
    result.notes.push_back(
        fmt::format("{} choices without a time or a cell of the tuning table left out", without));
  }
  return result;
}

int name_choices(const NcclLog& log, std::vector<MeasuredSeries>& series) {
  std::map<Bytes, std::vector<const NcclChoice*>> by_size;  // each in the log's order
  for (const NcclChoice& choice : log.choices) by_size[choice.size].push_back(&choice);
  int without = 0;
  for (MeasuredSeries& one : series) {
    for (MeasuredRow& row : one.rows) {
      const std::vector<const NcclChoice*>& sized = by_size[row.size];
      const auto found = std::ranges::find_if(sized, [&](const NcclChoice* candidate) {
        return !candidate->op || *candidate->op == one.op;
      });
      if (found == sized.end()) {
        ++without;
        continue;
      }
      row.algorithm = (*found)->algorithm;
      row.protocol = (*found)->protocol;
      row.channels = (*found)->channels;
    }
  }
  return without;
}

}  // namespace gradwire
