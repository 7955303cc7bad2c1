#include <cstdio>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/compute.hpp"
#include "calibration/capture/bench/device.hpp"

namespace gradwire::calibration {
namespace {

bool report(const std::string& what, const std::string& wrong) {
  std::printf("%-28s %s\n", what.c_str(), wrong.empty() ? "ok" : wrong.c_str());
  std::fflush(stdout);
  return wrong.empty();
}

}  // namespace

int run_selftest(const std::vector<std::string>& words) {
  const Arguments arguments({{"--gpu", "0", "index"}}, words);
  const int gpu = static_cast<int>(arguments.whole("--gpu", 0));
  static_cast<void>(require_devices());
  GRADWIRE_CUDA_CHECK(cudaSetDevice(gpu));
  bool right = true;
  for (const std::string& kind : compute_kinds()) {
    std::string wrong;
    try {
      wrong = make_compute(kind)->check();
    } catch (const DeviceError& error) {
      wrong = error.what();
    }
    right = report("overlap " + kind, wrong) && right;
  }
  right = report("stand-in copy kernel", check_stand_in()) && right;
  return right ? exit_done : exit_failed;
}

}  // namespace gradwire::calibration
