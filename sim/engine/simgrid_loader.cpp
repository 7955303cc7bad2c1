#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "sim/engine/simgrid_module.hpp"
#include "sim/engine/simgrid_transport.hpp"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libgradwire_simgrid.so";

/// Where the module is: with a program that was built here, where it was built; else where it was
/// installed with the program. What is installed lies in a folder `bin`, wherever that is; nothing
/// is built in one.
fs::path module_path() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path build = fs::weakly_canonical(GRADWIRE_BUILD_FOLDER, error);
  const fs::path from_build = program.lexically_relative(build);
  const bool installed = program.parent_path().filename() == "bin";
  const bool built_here = !installed && !from_build.empty() && *from_build.begin() != "..";
  return built_here ? build / "sim/engine" / file_name
                    : program.parent_path().parent_path() / "lib/gradwire" / file_name;
}

/// What the module offers.
struct Module {
  decltype(&gradwire_simgrid_transport) transport = nullptr;
  decltype(&gradwire_simgrid_version) version = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("no ") + name + " in " + file_name);
}

Module load() {
  const fs::path path = module_path();
  // Its libraries import some ten thousand functions, of which few are called.
  void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(std::string("cannot load SimGrid's part of this program: ") +
                             ::dlerror());
  }
  Module module;
  find(library, "gradwire_simgrid_transport", module.transport);
  find(library, "gradwire_simgrid_version", module.version);
  return module;
}

const Module& module() {
  static const Module loaded = load();
  return loaded;
}

}  // namespace

void load_simgrid() {
  static_cast<void>(module());
}

bool simgrid_is_loaded() {
  void* library = ::dlopen(module_path().c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

std::unique_ptr<Transport> make_simgrid_transport(FlowProblem problem) {
  return std::unique_ptr<Transport>(module().transport(problem));
}

const char* simgrid_version() {
  return module().version();
}

}  // namespace gradwire
