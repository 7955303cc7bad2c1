#include "calibration/capture/preflight.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "calibration/capture/common/nvml.hpp"
#include "tests/catch.hpp"

using namespace gradwire::calibration;

namespace {

/// A variable of the fake library, for one test.
class FakeAnswer {
 public:
  FakeAnswer(const std::string& name, const std::string& value) : name_("FAKE_NVML_" + name) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~FakeAnswer() { unsetenv(name_.c_str()); }
  FakeAnswer(const FakeAnswer&) = delete;
  FakeAnswer& operator=(const FakeAnswer&) = delete;

 private:
  std::string name_;
};

struct Node {
  std::map<std::string, std::string> environment{};
  PreflightOptions options{};

  Node() {
    options.nvml_library = GRADWIRE_FAKE_NVML;
    options.driver_parameters = "/nonexistent";
    options.environment = [this](const char* name) {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    };
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const Finding& finding : check_node(options).findings) {
      texts.push_back((finding.fatal ? "fatal: " : "warning: ") + finding.text);
    }
    return texts;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("NVML tells each GPU, and what it does not tell stays empty", "[nvml]") {
  std::string why;
  const auto nvml = Nvml::open(why, GRADWIRE_FAKE_NVML);
  REQUIRE(nvml);
  CHECK(nvml->driver_version() == "580.159");
  CHECK(nvml->cuda_version() == 13000);
  const std::vector<NvmlGpu> gpus = nvml->gpus();
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[1].index == 1);
  CHECK(gpus[1].name == "NVIDIA H200");
  CHECK(gpus[1].uuid == "GPU-0000-1");
  CHECK(gpus[1].bus == "00000000:19:00.0");
  CHECK(gpus[1].compute_major == 9);
  CHECK(gpus[1].memory_bytes == 150'000'000'000);
  CHECK(gpus[1].sm_clock_mhz == 1200U);
  CHECK(gpus[1].sm_clock_max_mhz == 1980U);
  CHECK(gpus[1].memory_clock_mhz == 3200U);
  CHECK(gpus[1].throttle_reasons == nvml_throttle::idle);
  CHECK(gpus[0].mig == false);
  CHECK_FALSE(gpus[1].mig);              // answered: not supported
  CHECK_FALSE(gpus[1].pcie_generation);  // no such call in this library
  CHECK(gpus[1].pcie_generation_max == 5U);
  REQUIRE(gpus[1].links.size() == 2);
  CHECK(gpus[1].links[0].active);
  CHECK_FALSE(gpus[1].links[1].active);
  CHECK(gpus[1].links[0].version == 4);
  CHECK(nvml->topology(0, 1) == NvmlTopology::one_switch);
}

TEST_CASE("the reasons of a low clock have names", "[nvml]") {
  CHECK(throttle_names(0).empty());
  CHECK(throttle_names(nvml_throttle::software_power_cap | nvml_throttle::hardware_thermal) ==
        Texts{"software power cap", "hardware thermal slowdown"});
  CHECK(throttle_names(0x200) == Texts{"0x200"});
}

TEST_CASE("a node in order gives no findings", "[preflight]") {
  const Node node;
  CHECK(node.texts().empty());
  CHECK(check_node(node.options).ready());
}

TEST_CASE("what stands in the way is reported in one line each, with what to do", "[preflight]") {
  Node node;
  SECTION("no driver") {
    node.options.nvml_library = "/nonexistent/libnvidia-ml.so.1";
    CHECK(node.texts() ==
          Texts{"fatal: no NVIDIA driver: /nonexistent/libnvidia-ml.so.1: cannot open shared "
                "object file: No such file or directory; expected a machine with an NVIDIA GPU "
                "and its driver (docker: --gpus all)"});
    CHECK_FALSE(check_node(node.options).ready());
  }
  SECTION("a driver that is not loaded") {
    const FakeAnswer answer("INIT", "9");
    CHECK(node.texts() == Texts{"fatal: the NVIDIA driver is not loaded; expected a machine with "
                                "an NVIDIA GPU and its driver (docker: --gpus all)"});
  }
  SECTION("another library") {
    node.options.nvml_library = "libm.so.6";
    CHECK(node.texts() ==
          Texts{"fatal: libm.so.6 is not NVIDIA's management library, or older than driver 450; "
                "expected a machine with an NVIDIA GPU and its driver (docker: --gpus all)"});
  }
  SECTION("an old driver") {
    const FakeAnswer answer("CUDA", "12040");
    node.options.cuda_version = 13000;
    CHECK(node.texts() ==
          Texts{"fatal: driver 580.159 runs CUDA 12.4, and this program is built with CUDA 13.0; "
                "expected a driver of CUDA 13, or a build with the driver's toolkit"});
    node.options.cuda_version = 12080;
    CHECK(node.texts() ==
          Texts{"warning: driver 580.159 runs CUDA 12.4, and this program is built with CUDA "
                "12.8; update the driver where calls fail"});
  }
  SECTION("no GPU, or none visible") {
    node.environment["CUDA_VISIBLE_DEVICES"] = "-1";
    CHECK(node.texts() ==
          Texts{"fatal: CUDA_VISIBLE_DEVICES hides every GPU; expected one of 0 to 1"});
    const FakeAnswer answer("COUNT", "0");
    CHECK(node.texts() == Texts{"fatal: the driver shows no GPU; expected one (docker: --gpus "
                                "all; Slurm: --gres)"});
  }
  SECTION("MIG") {
    const FakeAnswer answer("MIG", "1");
    CHECK(node.texts() == Texts{"warning: GPU 0 is split by MIG: no profile is made of a slice; "
                                "nvidia-smi -mig 0 makes it whole"});
  }
  SECTION("clocks that are held down") {
    const FakeAnswer answer("THROTTLE", "64");
    CHECK(node.texts() ==
          Texts{"warning: GPU 0 is slowed at 1200 of 1980 MHz (hardware thermal slowdown): times "
                "will be of a slower GPU; let it cool, or raise its power limit"});
  }
  SECTION("no persistence mode") {
    const FakeAnswer answer("PERSISTENCE", "0");
    CHECK(node.texts().size() == 2);  // one for each GPU
    CHECK(check_node(node.options).ready());
  }
  SECTION("another profiler") {
    node.environment["CUDA_INJECTION64_PATH"] = "/opt/other.so";
    CHECK(node.texts() == Texts{"fatal: another profiler is attached "
                                "(CUDA_INJECTION64_PATH=/opt/other.so): CUPTI serves one at a "
                                "time; run without it"});
    node.options.own_injection = false;
    CHECK(node.texts().empty());
  }
  SECTION("profiling that is kept to root") {
    const auto file = std::filesystem::temp_directory_path() /
                      ("gradwire_driver_parameters." + std::to_string(getpid()));
    std::ofstream(file) << "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
    node.options.driver_parameters = file.string();
    // Root may; another user is reported.
    CHECK(node.texts().size() == (geteuid() == 0 ? 0 : 1));
    std::filesystem::remove(file);
  }
}

TEST_CASE("what is fatal comes before what is not", "[preflight]") {
  Node node;
  const FakeAnswer answer("MIG", "1");
  node.environment["NSYS_PROFILING_SESSION_ID"] = "7";
  const Texts texts = node.texts();
  REQUIRE(texts.size() == 2);
  CHECK_THAT(texts[0], Catch::ContainsSubstring("fatal: Nsight Systems is attached"));
}
