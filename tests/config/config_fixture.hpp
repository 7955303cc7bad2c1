#pragma once

#include <cstdlib>
#include <string>

#include "tests/scratch_folder.hpp"
#include "tests/source_dir.hpp"

/// Points the program at the made-up data of tests/config/data and writes scenarios into a folder
/// of its own, removed at the end.
class ConfigFixture {
 public:
  ConfigFixture() { setenv("GRADWIRE_DATA", GRADWIRE_SOURCE_DIR "/tests/config/data", 1); }
  ConfigFixture(const ConfigFixture&) = delete;
  ConfigFixture& operator=(const ConfigFixture&) = delete;
  ~ConfigFixture() { unsetenv("GRADWIRE_DATA"); }

  /// @return the file's name.
  [[nodiscard]] std::string write(const std::string& text,
                                  const std::string& name = "s.yaml") const {
    return folder_.write(text, name);
  }

  /// A scenario that uses every kind of key; line numbers in the tests count its lines.
  static constexpr const char* good =
      "schema: gradwire.scenario/1\n"                                               // 1
      "profile: tiny/small-gpu_fp32_b4\n"                                           // 2
      "cluster:\n"                                                                  // 3
      "  node: pair\n"                                                              // 4
      "  nodes: 2\n"                                                                // 5
      "  fabric: {kind: single_switch, link: ib_edr, links_per_node: 1}\n"          // 6
      "strategy: {name: ddp, version: \"1.4\", bucket_cap: 25 MiB}\n"               // 7
      "collective: {library: nccl, version: \"2.4.8\", table: small}\n"             // 8
      "run: {iterations: 10, warmup: 2, seed: 3, fidelity: fluid}\n"                // 9
      "jitter: {rank: 1 %, iteration: 2 %, layer: 0 %}\n"                           // 10
      "stragglers: [{ranks: [3], compute: 1.5}, {fraction: 1 %, compute: 1.2}]\n";  // 11

 private:
  gradwire::test::ScratchFolder folder_;
};
