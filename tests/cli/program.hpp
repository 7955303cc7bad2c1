#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace gradwire {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of one test's process, gone at its end, in which the built program is run.
class Workplace {
 public:
  explicit Workplace(const std::string& name) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("gradwire_cli_" + name + "_XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder " + path);
    path_ = path;
  }
  ~Workplace() { std::filesystem::remove_all(path_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  struct Run {
    int code = 0;
    std::string out;
    std::string err;
  };
  /// Runs `gradwire ARGUMENTS` by a shell. @param before  e.g. "timeout -s INT 1".
  [[nodiscard]] Run run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd '" + path_.string() + "' && " + before +
                                " '" GRADWIRE_PROGRAM "' " + arguments + " > .out 2> .err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(path_ / ".out"),
            read_file(path_ / ".err")};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string text(const std::string& name) const { return read_file(path_ / name); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path_ / name);
  }

 private:
  std::filesystem::path path_;
};

/// A job of one machine; `more` follows it.
inline std::string scenario(const std::string& more = "") {
  return "schema: gradwire.scenario/1\n"
         "name: test\n"
         "profile: resnet50/v100-sxm2-32gb_fp32_b32\n"
         "cluster: {node: dgx1v, nodes: 1, gpus_per_node: 4, fabric: {kind: single_switch, link: "
         "ib_edr}}\n"
         "strategy: {name: ddp, bucket_cap: 25 MiB}\n"
         "run: {iterations: 4, warmup: 1, seed: 1}\n" +
         more;
}

}  // namespace gradwire
