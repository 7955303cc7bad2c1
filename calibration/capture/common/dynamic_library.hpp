#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

namespace gradwire::calibration {

/// A shared library found at run time, so that our programs start where it is missing. It stays
/// loaded: NVIDIA's libraries keep threads and exit handlers of their own.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;

  /// The library that the process has loaded already under this name, else nothing.
  static DynamicLibrary loaded(const std::string& name) {
    return DynamicLibrary(name, RTLD_NOW | RTLD_NOLOAD);
  }
  /// Loads `name` (a file, or a name that the loader looks for); nothing where it cannot be.
  static DynamicLibrary load(const std::string& name) { return DynamicLibrary(name, RTLD_NOW); }

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Why the library could not be loaded, in the loader's words.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Sets `function` to the symbol; false, and null, where the library has none.
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = nullptr;
    if (handle_ != nullptr) function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  DynamicLibrary(std::string name, int flags)
      : handle_(dlopen(name.c_str(), flags)), name_(std::move(name)) {
    if (handle_ != nullptr) return;
    const char* reason = dlerror();
    error_ = reason != nullptr ? reason : "not loaded";
  }

  void* handle_ = nullptr;
  std::string name_;
  std::string error_;
};

}  // namespace gradwire::calibration
