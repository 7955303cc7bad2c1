#include "topologies/importers/smi_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <utility>

#include "sim/core/budgets.hpp"
#include "sim/core/error.hpp"
#include "sim/core/text_lines.hpp"
#include "topologies/importers/node_parts.hpp"
#include "topologies/importers/pci_ids.hpp"

namespace gradwire {
namespace {

struct MatrixLine : TextLine {
  std::vector<Word> words;
};

/// A terminal has the header underlined: ESC [ numbers letter. By hand, as std::regex goes as deep
/// as its text is long.
std::string without_escapes(std::string_view text) {
  constexpr std::string_view begin = "\x1b[";
  std::string plain;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find(begin), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    const std::size_t end = text.find_first_not_of("0123456789;", begin.size());
    const bool whole =
        end != std::string_view::npos && std::isalpha(static_cast<unsigned char>(text[end])) != 0;
    if (!whole) plain += begin;
    text.remove_prefix(whole ? end + 1 : begin.size());
  }
  return plain;
}

std::vector<MatrixLine> split_lines(std::string_view text) {
  std::vector<MatrixLine> lines;
  for (const TextLine& line : lines_of(text)) lines.push_back({line, words_of(line.text)});
  return lines;
}

/// A whole number that counts something, from 0.
std::optional<int> count_in(std::string_view text) {
  const auto number = whole_number(text);
  if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

bool is_gpu(std::string_view name) {
  return name.starts_with("GPU") && count_in(name.substr(3)).has_value();
}

std::optional<SmiCell> read_cell(std::string_view text) {
  static const std::map<std::string_view, PathClass> classes = {
      {"X", PathClass::self},  {"PIX", PathClass::pix},   {"PXB", PathClass::pxb},
      {"PHB", PathClass::phb}, {"NODE", PathClass::node}, {"SYS", PathClass::sys},
      {"SOC", PathClass::sys}};  // SOC: drivers of the K80's time
  if (const auto known = classes.find(text); known != classes.end()) return SmiCell{known->second};
  if (!text.starts_with("NV")) return std::nullopt;
  const std::optional<int> lanes = count_in(text.substr(2));
  if (!lanes || *lanes == 0) return std::nullopt;
  return SmiCell{PathClass::unknown, *lanes};
}

/// Reads one text; its parts are the steps of read_smi_matrix.
class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& file)
      : file_(file), text_(without_escapes(text)), lines_(split_lines(text_)) {}

  SmiMatrix read() {
    std::size_t at = read_header();
    for (++at; at < lines_.size() && !lines_[at].words.empty(); ++at) {
      if (lines_[at].words.front().text.starts_with("Legend")) break;
      read_row(lines_[at]);
    }
    check_complete(lines_[std::min(at, lines_.size() - 1)].number);
    read_nic_legend(at);
    read_bus_ids();
    return sorted();
  }

 private:
  [[noreturn]] void fail(int line, int column, const std::string& message) const {
    throw ConfigError({file_, line, column}, message);
  }

  /// The header is the first line that begins with GPU0 and is not GPU0's row: some copies lose the
  /// tab in front of it.
  std::size_t read_header() {
    const auto is_header = [](const MatrixLine& line) {
      return !line.words.empty() && line.words[0].text == "GPU0" &&
             (line.words.size() == 1 || !read_cell(line.words[1].text));
    };
    const auto header = std::find_if(lines_.begin(), lines_.end(), is_header);
    if (header == lines_.end()) {
      fail(1, 1, "no GPU found; expected the matrix that 'nvidia-smi topo -m' prints");
    }
    std::set<std::string_view> seen;
    for (const Word& word : header->words) {
      if (word.text == "CPU" || word.text == "NUMA" || word.text == "GPU") break;
      if (!seen.insert(word.text).second) {
        fail(header->number, word.column, fmt::format("device {} stands twice", word.text));
      }
      if (names_.size() == matrix_devices.most) {
        fail(header->number, word.column, over(matrix_devices) + "; expected those of one node");
      }
      names_.emplace_back(word.text);
    }
    has_numa_ = header->text.find("NUMA Affinity") != std::string::npos;
    matrix_.devices.resize(names_.size());
    matrix_.cells.assign(names_.size(), std::vector<SmiCell>(names_.size()));
    return static_cast<std::size_t>(header - lines_.begin());
  }

  void read_row(const MatrixLine& line) {
    const Word& name = line.words.front();
    const auto found = std::find(names_.begin(), names_.end(), name.text);
    if (found == names_.end()) {
      fail(line.number, name.column,
           fmt::format(
               "row of '{}', which the header does not name; expected one of its {} devices{}",
               name.text, names_.size(), suggestion(name.text, names_)));
    }
    const auto row = static_cast<std::size_t>(found - names_.begin());
    if (matrix_.devices[row].has_row) {
      fail(line.number, name.column, fmt::format("second row of {}", name.text));
    }
    matrix_.devices[row].has_row = true;
    for (std::size_t column = 0; column < names_.size(); ++column) read_cell_at(line, row, column);
    const std::size_t past = names_.size() + 1;
    if (line.words.size() > past && read_cell(line.words[past].text)) {
      fail(line.number, line.words[past].column,
           fmt::format("row of {} has too many cells; expected {}", name.text, names_.size()));
    }
    read_affinity(line, matrix_.devices[row]);
  }

  void read_cell_at(const MatrixLine& line, std::size_t row, std::size_t column) {
    if (column + 1 >= line.words.size()) {
      fail(line.number, static_cast<int>(line.text.size()) + 1,
           fmt::format("row of {} has {} cells; expected {}", names_[row], line.words.size() - 1,
                       names_.size()));
    }
    const Word& word = line.words[column + 1];
    const auto at_cell = [&](const std::string& message) {
      fail(line.number, word.column, message);
    };
    const std::optional<SmiCell> cell = read_cell(word.text);
    if (!cell) {
      at_cell(fmt::format("cell '{}' of {}-{}; expected X, NV#, PIX, PXB, PHB, NODE or SYS",
                          word.text, names_[row], names_[column]));
    }
    if ((row == column) != (cell->path == PathClass::self)) {
      at_cell(fmt::format("cell '{}' of {}-{}; expected X on the diagonal and nowhere else",
                          word.text, names_[row], names_[column]));
    }
    const SmiCell& mirror = matrix_.cells[column][row];
    const bool mirrored = row != column && matrix_.devices[column].has_row;
    if (mirrored && (mirror.path != cell->path || mirror.nvlinks != cell->nvlinks)) {
      at_cell(fmt::format("{}-{} is {}, but the row of {} has another; expected the same both ways",
                          names_[row], names_[column], word.text, names_[column]));
    }
    matrix_.cells[row][column] = *cell;
    // The column of a device whose row is cut off still tells about it.
    if (!matrix_.devices[column].has_row) matrix_.cells[column][row] = *cell;
  }

  /// Cells may be empty, so tabs count; where tabs were lost or doubled, words count.
  void read_affinity(const MatrixLine& line, SmiDevice& device) const {
    std::vector<std::string> cells;
    std::size_t begin = 0;
    for (std::size_t tab = 0; tab != std::string::npos; begin = tab + 1) {
      tab = line.text.find('\t', begin);
      std::string cell(line.text.substr(begin, tab == std::string::npos ? tab : tab - begin));
      cell.erase(std::remove_if(cell.begin(), cell.end(), [](char c) { return c == ' '; }),
                 cell.end());
      cells.push_back(std::move(cell));
    }
    const auto past = static_cast<std::ptrdiff_t>(names_.size()) + 1;
    const bool by_tabs =
        std::ssize(cells) >= past &&
        std::equal(cells.begin(), cells.begin() + past, line.words.begin(),
                   [](const std::string& cell, const Word& word) { return cell == word.text; });
    std::vector<std::string> tail;
    if (by_tabs) {
      tail.assign(cells.begin() + past, cells.end());
    } else {
      for (auto word = line.words.begin() + past; word != line.words.end(); ++word) {
        tail.emplace_back(word->text);
      }
    }
    if (!tail.empty()) device.cpu_affinity = tail[0];
    if (tail.size() > 1 && has_numa_) device.numa = count_in(tail[1]).value_or(-1);
  }

  void check_complete(int last_line) const {
    for (std::size_t a = 0; a < names_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const bool told = matrix_.devices[a].has_row || matrix_.devices[b].has_row;
        if (told || !is_gpu(names_[a]) || !is_gpu(names_[b])) continue;
        fail(last_line, 1,
             fmt::format("the matrix is cut off: no row of {} or {}; expected one row for each GPU",
                         names_[b], names_[a]));
      }
    }
  }

  void read_nic_legend(std::size_t from) {
    for (std::size_t at = from; at < lines_.size(); ++at) {
      const auto& words = lines_[at].words;
      if (words.size() != 2 || !words[0].text.ends_with(':')) continue;
      const std::string_view label = words[0].text.substr(0, words[0].text.size() - 1);
      const auto found = std::find(names_.begin(), names_.end(), label);
      if (found == names_.end()) continue;
      if (std::find(names_.begin(), names_.end(), words[1].text) != names_.end()) {
        fail(lines_[at].number, words[1].column,
             fmt::format("device {} stands twice", words[1].text));
      }
      *found = words[1].text;
    }
  }

  /// "|   0  Tesla V100-SXM2...  On  | 00000000:06:00.0 Off |" or "0, 00000000:06:00.0".
  void read_bus_ids() {
    static const std::regex entry(
        "^[^0-9A-Za-z]*(?:GPU *)?([0-9]{1,3})[ ,:].*\\b([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:"
        "[0-9A-Fa-f]{2}\\.[0-9A-Fa-f])\\b.*");
    constexpr std::size_t length_max = 1000;  // std::regex goes as deep as a line is long
    for (const TextLine& line : lines_) {
      std::cmatch match;
      if (line.text.size() > length_max) continue;
      if (!std::regex_match(line.text.begin(), line.text.end(), match, entry)) continue;
      const auto gpu = std::find(names_.begin(), names_.end(), "GPU" + match[1].str());
      if (gpu == names_.end()) continue;
      matrix_.devices[static_cast<std::size_t>(gpu - names_.begin())].bus =
          pci_bus_id(match[2].str());
    }
  }

  /// GPUs before NICs, each by number: columns may stand in PCI order.
  SmiMatrix sorted() {
    std::vector<std::size_t> order(names_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t i) {
      return std::tuple(!is_gpu(names_[i]), names_[i].size(), std::string_view(names_[i]));
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    SmiMatrix result;
    for (const std::size_t from : order) {
      result.devices.push_back(matrix_.devices[from]);
      result.devices.back().name = names_[from];
      if (is_gpu(names_[from])) ++result.gpus;
      auto& row = result.cells.emplace_back();
      for (const std::size_t to : order) row.push_back(matrix_.cells[from][to]);
    }
    return result;
  }

  const std::string& file_;
  const std::string text_;  ///< what lines_ refer to
  std::vector<MatrixLine> lines_;
  std::vector<std::string> names_;
  bool has_numa_ = false;
  SmiMatrix matrix_;
};

}  // namespace

SmiMatrix read_smi_matrix(std::string_view text, const std::string& file) {
  return MatrixReader(text, file).read();
}

SmiMatrix without_nics(const SmiMatrix& matrix, const std::vector<std::string>& names,
                       const std::string& file) {
  std::vector<std::string> nics;
  std::vector<std::size_t> kept;
  for (std::size_t device = 0; device < matrix.devices.size(); ++device) {
    const std::string& name = matrix.devices[device].name;
    const bool is_nic = device >= static_cast<std::size_t>(matrix.gpus);
    if (is_nic) nics.push_back(name);
    const bool named = std::find(names.begin(), names.end(), name) != names.end();
    if (!is_nic || !named) kept.push_back(device);
  }
  require_known(names, nics, "NIC", file);
  SmiMatrix rest;
  rest.gpus = matrix.gpus;
  for (const std::size_t from : kept) {
    rest.devices.push_back(matrix.devices[from]);
    auto& row = rest.cells.emplace_back();
    for (const std::size_t to : kept) row.push_back(matrix.cells[from][to]);
  }
  return rest;
}

}  // namespace gradwire
