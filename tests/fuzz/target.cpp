// What libFuzzer calls: the reader that the build names. https://llvm.org/docs/LibFuzzer.html

#include <sys/personality.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/readers.hpp"

/// libFuzzer's next input depends on the addresses of what it compared: the same ones in every run,
/// where the system lets us, so that one seed gives one run.
extern "C" int LLVMFuzzerInitialize(const int* /*argc*/, char*** argv) {
  const int is = ::personality(0xffffffff);
  if (is != -1 && (is & ADDR_NO_RANDOMIZE) == 0 &&
      ::personality(static_cast<unsigned>(is) | ADDR_NO_RANDOMIZE) != -1) {
    ::execv("/proc/self/exe", *argv);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gradwire::fuzz::Reader& reader = gradwire::fuzz::reader_of(GRADWIRE_FUZZ_READER);
  gradwire::fuzz::accepts(reader, std::string(data, data + size));
  return 0;
}
