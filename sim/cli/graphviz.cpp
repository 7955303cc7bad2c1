#include "sim/cli/graphviz.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "sim/report/output_file.hpp"

namespace gradwire::cli {
namespace {

constexpr int not_found = 127;  ///< a shell's answer to an unknown command

/// A file for `dot` to read, gone when destroyed.
class GraphFile {
 public:
  explicit GraphFile(const std::string& graph)
      : path_(std::filesystem::temp_directory_path() / fmt::format("gradwire-{}.dot", ::getpid())) {
    write_file(path_, graph);
  }
  ~GraphFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  GraphFile(const GraphFile&) = delete;
  GraphFile& operator=(const GraphFile&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::string draw_svg(const std::string& graph) {
  const GraphFile file(graph);
  const std::string command = fmt::format(
      "command -v dot > /dev/null || exit {}; exec dot -Tsvg '{}'", not_found, file.path());
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run Graphviz's 'dot'");
  std::string svg;
  std::array<char, 65'536> chunk{};
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    svg.append(chunk.data(), got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found) {
    throw std::runtime_error(
        "Graphviz's 'dot' is not installed, which draws the picture; install the package "
        "'graphviz'");
  }
  if (status != 0) throw std::runtime_error("Graphviz's 'dot' could not draw the picture");
  return svg;
}

}  // namespace gradwire::cli
