#include "sim/config/profile/model_templates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/profile/layer_fields.hpp"
#include "sim/config/yaml/yaml_map.hpp"

namespace gradwire::config {
namespace {

constexpr std::int64_t number_max = 1'000'000'000'000;
constexpr std::size_t layers_most = 100'000;
constexpr int depth_max = 64;  ///< of parentheses

using Numbers = std::map<std::string, std::int64_t, std::less<>>;

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Whole numbers, names, + - * / and parentheses.
class Expression {
 public:
  Expression(const YamlValue& value, const Numbers& numbers)
      : value_(value), numbers_(numbers), rest_(value.text) {}

  std::int64_t result() {
    const std::int64_t number = sum();
    skip_spaces();
    if (!rest_.empty()) fail(fmt::format("'{}' is left over", rest_));
    return number;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw ConfigError(value_.where,
                      fmt::format("'{}' is no size: {}; expected whole numbers and names of "
                                  "'parameters' with + - * / and parentheses",
                                  value_.text, why));
  }
  [[nodiscard]] std::int64_t within(std::int64_t number) const {
    if (number < -number_max || number > number_max) fail("it is too large");
    return number;
  }
  void skip_spaces() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::int64_t sum() {
    std::int64_t number = product();
    while (true) {
      if (take('+')) {
        number = within(number + product());
      } else if (take('-')) {
        number = within(number - product());
      } else {
        return number;
      }
    }
  }
  std::int64_t product() {
    std::int64_t number = factor();
    while (true) {
      if (take('*')) {
        const std::int64_t other = factor();
        if (other != 0 && std::abs(number) > number_max / std::abs(other)) fail("it is too large");
        number *= other;
      } else if (take('/')) {
        const std::int64_t other = factor();
        if (other == 0 || number % other != 0) {
          fail(fmt::format("{} / {} is no whole number", number, other));
        }
        number /= other;
      } else {
        return number;
      }
    }
  }
  std::int64_t factor() {
    if (take('(')) {
      if (++depth_ > depth_max) fail("it is too deep");
      const std::int64_t number = sum();
      if (!take(')')) fail("a parenthesis is not closed");
      --depth_;
      return number;
    }
    skip_spaces();
    if (!rest_.empty() && is_digit(rest_.front())) return number();
    if (!rest_.empty() && begins_name(rest_.front())) return named();
    fail("a number or a name is missing");
  }
  std::int64_t number() {
    std::int64_t read = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), read);
    if (error != std::errc{}) fail("it is too large");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return within(read);
  }
  std::int64_t named() {
    const auto* const end =
        std::ranges::find_if(rest_, [](char c) { return !begins_name(c) && !is_digit(c); });
    const std::string_view name = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      std::vector<std::string> known;
      for (const auto& [each, value] : numbers_) known.push_back(each);
      fail(fmt::format("'{}' is no parameter{}", name, suggestion(std::string(name), known)));
    }
    rest_.remove_prefix(name.size());
    return found->second;
  }

  const YamlValue& value_;
  const Numbers& numbers_;
  std::string_view rest_;
  int depth_ = 0;
};

/// Keys whose values are sizes, or lists of them.
bool is_size(std::string_view key) {
  constexpr std::array<std::string_view, 17> sizes = {
      "out",   "kernel", "stride", "padding", "groups", "size",  "rows",     "columns", "depth",
      "count", "heads",  "input",  "output",  "shape",  "flops", "elements", "kernels"};
  return std::ranges::find(sizes, key) != sizes.end();
}

/// A name, or something with an operator: "3 px" is neither, and told as what it is.
bool is_expression(const YamlValue& value) {
  if (value.kind != YamlValue::Kind::scalar || value.quoted || value.text.empty()) return false;
  return begins_name(value.text.front()) || value.text.find_first_of("+-*/()") != std::string::npos;
}

/// 1e6 is a number of its own.
bool is_number(const std::string& text) {
  double read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  return error == std::errc{} && end == text.data() + text.size();
}

void put_number(YamlValue& value, const Numbers& numbers) {
  if (!is_expression(value) || is_number(value.text)) return;
  value.text = std::to_string(Expression(value, numbers).result());
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

class Writer {
 public:
  Writer(const YamlValue& document, Numbers numbers) : numbers_(std::move(numbers)) {
    layers_.kind = YamlValue::Kind::list;
    layers_.where = document.where;
  }

  void append(const YamlValue& item, int depth = 0) {
    if (item.find("repeat") != nullptr) return repeat(item, depth);
    if (layers_.items.size() >= layers_most) {
      throw ConfigError(item.where,
                        fmt::format("more than {} layers; expected fewer", layers_most));
    }
    YamlValue layer = item;
    fill(layer, "");
    if (const YamlValue* name = layer.find("name")) last_ = name->text;
    layers_.items.push_back(std::move(layer));
  }

  YamlValue finish() { return std::move(layers_); }

 private:
  void repeat(const YamlValue& item, int depth) {
    constexpr int nested_max = 8;
    YamlValue head = item;
    for (YamlEntry& entry : head.entries) {
      if (entry.key == "repeat") put_number(entry.value, numbers_);
    }
    YamlMap map(head);
    Repeat copies;
    repeat_fields().read(map, copies);
    map.finish();
    const std::string& index = copies.index;
    const YamlValue layers = *head.find("layers");
    if (layers.kind != YamlValue::Kind::list || layers.items.empty()) {
      map.fail("layers", "'layers' has no item; expected the layers of a copy");
    }
    if (numbers_.contains(index) || depth >= nested_max) {
      map.fail("as",
               fmt::format("'{}' has a meaning already; expected another name in 'as'", index));
    }
    for (int copy = 0; copy < copies.count; ++copy) {
      numbers_[index] = copy;
      const std::string outer = std::exchange(before_, last_);
      for (const YamlValue& layer : layers.items) append(layer, depth + 1);
      before_ = outer;
    }
    numbers_.erase(index);
  }

  void fill(YamlValue& value, std::string_view key) {
    for (const auto& [name, number] : numbers_) {
      replace_all(value.text, "{" + name + "}", std::to_string(number));
    }
    replace_all(value.text, "{before}", before_);
    const bool layer_name = key == "input" && value.kind == YamlValue::Kind::scalar;
    if (is_size(key) && !layer_name) put_number(value, numbers_);
    for (YamlValue& item : value.items) {
      fill(item, key == "input" || is_size(key) ? "size" : "");
    }
    for (YamlEntry& entry : value.entries) fill(entry.value, entry.key);
  }

  Numbers numbers_;
  YamlValue layers_;
  std::string last_;    ///< name of the layer before
  std::string before_;  ///< of the layer before this copy
};

Numbers read_parameters(const YamlValue& document) {
  Numbers numbers;
  const YamlValue* parameters = document.find("parameters");
  if (parameters == nullptr) return numbers;
  if (parameters->kind != YamlValue::Kind::map) {
    throw ConfigError(parameters->where,
                      fmt::format("'parameters' is {}; expected names with whole numbers",
                                  describe(*parameters)));
  }
  for (const YamlEntry& entry : parameters->entries) {
    const bool word = begins_name(entry.key.front()) && std::ranges::all_of(entry.key, [](char c) {
                        return begins_name(c) || is_digit(c);
                      });
    if (!word || entry.key == "before") {
      throw ConfigError(entry.where,
                        fmt::format("'{}' is no name of a parameter; expected letters, "
                                    "digits and '_'",
                                    entry.key));
    }
    numbers[entry.key] = Expression(entry.value, numbers).result();
  }
  return numbers;
}

}  // namespace

YamlValue written_out_layers(const YamlValue& document) {
  Writer writer(document, read_parameters(document));
  if (const YamlValue* layers = document.find("layers")) {
    for (const YamlValue& item : layers->items) writer.append(item);
  }
  return writer.finish();
}

}  // namespace gradwire::config
