#include "calibration/capture/inject/session.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "calibration/capture/common/host_part.hpp"
#include "calibration/capture/inject/cupti_api.hpp"
#include "calibration/capture/inject/cupti_session.hpp"
#include "calibration/capture/inject/inside.hpp"
#include "calibration/capture/inject/nvtx_handler.hpp"
#include "calibration/capture/inject/process_facts.hpp"
#include "calibration/capture/inject/recorder.hpp"

namespace gradwire::calibration {
namespace {

constexpr const char* tool = "gradwire-inject 0.1";

/// Handlers run in reverse order: ours must come before those of the libraries that it calls, so
/// that it is registered again after each of them is loaded. The first that runs does the work.
void finish_at_exit() {
  std::atexit([] {
    // A handler that ends the program may have interrupted us: our locks are held for good.
    Recorder* current = Recorder::current();
    if (current != nullptr && !Inside::now()) current->finish();
  });
}

/// The recorder of this process, made by the first who calls; null where the settings forbid it.
/// Never destroyed: CUPTI's and NVTX's calls may come after exit handlers.
Recorder* process_recorder() {
  static Recorder* const recorder = []() -> Recorder* {
    std::string error;
    const Settings settings =
        read_settings([](const char* name) { return std::getenv(name); }, error);
    if (!error.empty()) {
      std::fprintf(stderr, "gradwire: %s; nothing is recorded\n", error.c_str());
      return nullptr;
    }
    auto* made = new Recorder(
        settings, {std::string("tool=") + tool, "host=" + host_name(),
                   "command=" + command_text(own_command_line(), settings.command_line)});
    Recorder::install(made);
    finish_at_exit();
    return made;
  }();
  // A forked child has its parent's, and must not use it.
  return recorder == Recorder::current() ? recorder : nullptr;
}

void record_cuda(Recorder& recorder) {
  std::string why;
  const std::optional<CuptiApi> api = load_cupti(why);
  if (api) {
    auto* session = new CuptiSession(*api, recorder);  // lives as long as the recorder
    if (session->start(why)) {
      recorder.attach(session);
      finish_at_exit();
      return;
    }
  }
  recorder.add_fact("no_device=" + why);
  recorder.append({});  // a file that says so
  std::fprintf(stderr, "gradwire: %s; no device is recorded\n", why.c_str());
}

}  // namespace

int start_cuda() {
  static std::once_flag once;
  try {
    Recorder* recorder = process_recorder();
    if (recorder != nullptr) std::call_once(once, [&] { record_cuda(*recorder); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradwire: %s; nothing is recorded\n", error.what());
  }
  return 1;
}

int start_nvtx(NvtxGetExportTableFunc_t get_export_table) {
  try {
    Recorder* recorder = process_recorder();
    if (recorder == nullptr) return 0;
    return install_nvtx(get_export_table, recorder->settings().mode);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradwire: %s; no ranges are recorded\n", error.what());
    return 0;
  }
}

}  // namespace gradwire::calibration
