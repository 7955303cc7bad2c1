#include "calibration/capture/inject/process_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string_view>

#include "calibration/capture/common/host_part.hpp"

namespace gradwire::calibration {
namespace {

constexpr std::string_view mask = "***";

/// Whether an option or variable of this name has a value that is nobody's business.
bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 9> parts{"token",      "secret",     "passw",
                                                         "passphrase", "apikey",     "accesskey",
                                                         "privatekey", "credential", "auth"};
  std::string letters;
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return letters.find(part) != std::string::npos;
  });
}

/// "scheme://user:password@host" without the user.
std::string without_user(const std::string& word) {
  const std::size_t scheme = word.find("://");
  if (scheme == std::string::npos) return word;
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(word.find('/', begin), word.size());
  const std::size_t at = word.rfind('@', end);
  if (at == std::string::npos || at < begin) return word;
  return word.substr(0, begin) + std::string(mask) + word.substr(at);
}

}  // namespace

std::string command_text(const std::vector<std::string>& words, bool whole) {
  if (words.empty()) return {};
  if (!whole) {
    if (words.size() == 1) return words[0];
    return words[0] + " (" + std::to_string(words.size() - 1) + " words not recorded)";
  }
  std::string text = words[0];
  bool value_next = false;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    text += ' ';
    const std::size_t equals = word->find('=');
    const bool option = word->starts_with("-");
    const bool secret = is_secret_name(std::string_view(*word).substr(0, equals));
    if (value_next && !option) {
      text += mask;
    } else if (equals != std::string::npos && secret) {
      text += word->substr(0, equals + 1) + std::string(mask);
    } else {
      text += without_user(*word);
    }
    value_next = option && secret && equals == std::string::npos;
  }
  return text;
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string recording_path(const Settings& settings) {
  return settings.folder + "/" + name_of(settings.mode) + ".rank" + std::to_string(settings.rank) +
         "." + host_part() + "." + std::to_string(getpid()) + ".gwr";
}

}  // namespace gradwire::calibration
