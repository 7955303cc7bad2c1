// A program that knows nothing of the recorder: NVTX, and what the CUDA driver does at its start.
// usage: nvtx_client ranges COUNT [exit|_exit|fork]  |  nvtx_client cuda LIBRARY  |  nvtx_client
// strings FORKS
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void push_ranges(int count) {
  for (int index = 0; index < count; ++index) {
    nvtxMarkA(("gradwire.iteration:" + std::to_string(index)).c_str());
    nvtxRangePushA("aten::mm, seq = 1");
    nvtxRangePop();
  }
}

/// The driver loads the library that CUDA_INJECTION64_PATH names, and calls it, within cuInit.
int start_cuda(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  auto* initialize = reinterpret_cast<int (*)()>(dlsym(handle, "InitializeInjection"));
  return initialize != nullptr && initialize() == 1 ? 0 : 1;
}

/// Forks `count` children while another thread registers strings; each registers one.
int fork_strings(int count) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("client");
  std::atomic<bool> running = true;
  std::thread registering([&] {
    while (running) nvtxDomainRegisterStringA(domain, "name");
  });
  int failed = 0;
  for (int index = 0; index < count; ++index) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);
      nvtxDomainRegisterStringA(domain, "child");
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      ++failed;
      break;
    }
  }
  running = false;
  registering.join();
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (std::string(argv[1]) == "cuda") return start_cuda(argv[2]);
  if (std::string(argv[1]) == "strings") return fork_strings(std::atoi(argv[2]));
  push_ranges(std::atoi(argv[2]));
  const std::string end = argc > 3 ? argv[3] : "exit";
  if (end == "_exit") {
    usleep(200'000);  // the recorder writes what came before the last mark meanwhile
    _exit(0);
  }
  if (end == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      push_ranges(5);
      std::exit(0);  // with the parent's exit handlers
    }
    waitpid(child, nullptr, 0);
    push_ranges(1);
  }
  return 0;
}
