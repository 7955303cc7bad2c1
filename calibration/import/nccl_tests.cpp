#include "calibration/import/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <set>
#include <utility>

#include "calibration/import/run_list.hpp"
#include "sim/core/text_lines.hpp"

namespace gradwire {
namespace {

/// Columns counted from the right end of a row: those on the left may be blank (redop of an
/// all-to-all in old versions).
struct Columns {
  std::size_t words = 0;       ///< of a full row
  std::size_t time_first = 0;  ///< of the first time, from the right, 1 is the last word
  std::optional<std::size_t> time;
  std::optional<std::size_t> wrong;
};

/// The line that names the columns; absent when this one does not.
std::optional<Columns> read_header(const std::vector<Word>& words, bool in_place) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(words, name, &Word::text) != words.end();
  };
  if (words.empty() || !words.front().text.starts_with('#') || !has("busbw") ||
      (!has("size") && !has("bytes"))) {
    return std::nullopt;
  }
  const bool apart = words.front().text == "#";  // "# size", not "#size"
  Columns columns;
  columns.words = words.size() - (apart ? 1U : 0U);
  if (words.back().text == "timestamp") --columns.words;
  const std::size_t begin = apart ? 1 : 0;
  int times = 0;
  for (std::size_t i = begin; i < begin + columns.words; ++i) {
    const std::size_t from_right = begin + columns.words - i;
    if (words[i].text == "time") {
      if (times == 0) columns.time_first = from_right;
      if (times == (in_place ? 1 : 0)) columns.time = from_right;
      ++times;
    }
    const bool is_check =
        words[i].text == "#wrong" || words[i].text == "error" || words[i].text == "res";
    if (is_check && times == (in_place ? 2 : 1)) columns.wrong = from_right;
  }
  return columns;
}

/// The part of a line before what NCCL printed into it ("host:12:34 [0] NCCL INFO ...").
std::string_view without_log(std::string_view line) {
  const std::size_t log = std::min(line.find("NCCL INFO"), line.find("NCCL WARN"));
  if (log == std::string_view::npos) return line;
  std::vector<Word> words = words_of(line.substr(0, log));
  while (!words.empty() && (words.back().text.starts_with('[') ||
                            words.back().text.find(':') != std::string_view::npos)) {
    words.pop_back();
  }
  return words.empty() ? std::string_view{}
                       : line.substr(0, static_cast<std::size_t>(words.back().column) - 1 +
                                            words.back().text.size());
}

class TextReader {
 public:
  TextReader(const std::string& file, bool in_place, RunList& runs)
      : file_(file), in_place_(in_place), runs_(runs) {}

  void read(const TextLine& whole) {
    const TextLine line{without_log(whole.text), whole.number};
    const std::vector<Word> words = words_of(line.text);
    if (words.empty()) return;
    if (const auto header = read_header(words, in_place_)) {
      begin_table(line, *header);
      return;
    }
    const std::string_view first = words[0].text;
    const bool is_row =
        columns_ && first.find_first_not_of("0123456789", first.front() == '-' ? 1 : 0) ==
                        std::string_view::npos;
    if (is_row) {
      read_row(line, words);
      return;
    }
    read_preamble(line);
  }

 private:
  void begin_table(const TextLine& line, const Columns& columns) {
    if (!columns.time) {
      throw ConfigError(line.at(file_, 1),
                        fmt::format("the table has no {} time; expected a column 'time'",
                                    in_place_ ? "in-place" : "out-of-place"));
    }
    columns_ = columns;
    RunList::Table table;
    table.op = op_;
    table.ranks = static_cast<int>(ranks_.size());
    table.nodes = static_cast<int>(hosts_.size());
    table.version = version_;
    table.where = line.at(file_, 1);
    runs_.begin(table);
    devices_ended_ = true;
  }

  void read_row(const TextLine& line, std::vector<Word> words) {
    while (!words.empty() && words.back().text.find(':') != std::string_view::npos) {
      words.resize(words.size() - std::min<std::size_t>(2, words.size()));  // date and time
    }
    constexpr std::size_t least_left = 3;  // size, count, type
    if (words.size() > columns_->words || words.size() < columns_->time_first + least_left) {
      throw ConfigError(line.at(file_, words.empty() ? 1 : words.back().column),
                        fmt::format("a row of {} columns; expected {} as its header says",
                                    words.size(), columns_->words));
    }
    const auto size = whole_number(words[0].text);
    if (!size || *size < 0) {
      throw ConfigError(
          line.at(file_, words[0].column),
          fmt::format("'{}' is no size; expected whole bytes, at least 0", words[0].text));
    }
    const Word& time = words[words.size() - *columns_->time];
    const auto microseconds = number(time.text);
    if (!microseconds || *microseconds <= 0) {
      throw ConfigError(line.at(file_, time.column),
                        fmt::format("'{}' is no time; expected microseconds above 0", time.text));
    }
    if (columns_->wrong) {
      const auto wrong = number(words[words.size() - *columns_->wrong].text);
      // "error" of old versions is the largest difference, rounding included.
      constexpr double rounding = 1e-2;
      if (wrong && *wrong > rounding) runs_.add_wrong();
    }
    MeasuredRow row;
    row.size = Bytes{*size};
    row.time = Seconds{*microseconds * 1e-6};
    runs_.add(row);
  }

  /// What stands before a table: the program, its devices, the library's version.
  void read_preamble(const TextLine& line) {
    if (const auto op = nccl_tests_operation(line.text)) op_ = op;
    const std::vector<Word> words = words_of(line.text);
    const auto rank = std::ranges::find(words, "Rank", &Word::text);
    const auto on = std::ranges::find(words, "on", &Word::text);
    const bool is_device = words.front().text == "#" && words.end() - rank > 1 &&
                           words.end() - on > 1 && whole_number((rank + 1)->text);
    if (is_device) {
      if (std::exchange(devices_ended_, false)) {  // of the next table
        ranks_.clear();
        hosts_.clear();
      }
      ranks_.insert(*whole_number((rank + 1)->text));
      hosts_.insert(std::string((on + 1)->text));
    }
    if (const auto code = number_after(line.text, "nccl-library=")) {
      version_ = nccl_version_text(*code);
    }
    constexpr std::string_view label = "NCCL version ";
    if (const std::size_t found = line.text.find(label); found != std::string_view::npos) {
      const std::string_view rest = line.text.substr(found + label.size());
      version_ = rest.substr(0, rest.find_first_not_of("0123456789."));
    }
  }

  const std::string& file_;
  bool in_place_;
  RunList& runs_;
  std::optional<Columns> columns_;
  std::optional<CollectiveKind> op_;
  std::set<long long> ranks_;
  std::set<std::string> hosts_;
  bool devices_ended_ = false;
  std::string version_;
};

}  // namespace

std::optional<CollectiveKind> nccl_tests_operation(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, CollectiveKind>, 9> programs = {{
      {"all_reduce_perf", CollectiveKind::all_reduce},
      {"reduce_scatter_perf", CollectiveKind::reduce_scatter},
      {"all_gather_perf", CollectiveKind::all_gather},
      {"broadcast_perf", CollectiveKind::broadcast},
      {"reduce_perf", CollectiveKind::reduce},
      {"alltoall_perf", CollectiveKind::all_to_all},
      {"gather_perf", CollectiveKind::gather},
      {"scatter_perf", CollectiveKind::scatter},
      {"sendrecv_perf", CollectiveKind::send_recv},
  }};
  std::optional<CollectiveKind> last;
  std::size_t last_at = 0;
  for (const auto& [program, op] : programs) {
    const std::size_t at = text.rfind(program);
    if (at == std::string_view::npos || (last && at < last_at)) continue;
    const auto before = static_cast<unsigned char>(at > 0 ? text[at - 1] : ' ');
    if (std::isalnum(before) != 0 || before == '_') continue;  // reduce_perf in all_reduce_perf
    last = op;
    last_at = at;
  }
  return last;
}

ImportedTables read_nccl_tests(const std::string& text, const std::string& file,
                               const NcclTestsOptions& options) {
  RunList runs(file, options);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    read_nccl_tests_json(text, file, options.in_place, runs);
    return runs.finish();
  }
  TextReader reader(file, options.in_place, runs);
  for (const TextLine& line : lines_of(text)) reader.read(line);
  return runs.finish();
}

}  // namespace gradwire
