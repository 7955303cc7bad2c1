// What libFuzzer calls: the reader that the build names. https://llvm.org/docs/LibFuzzer.html

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gradwire::fuzz::Reader& reader = gradwire::fuzz::reader_of(GRADWIRE_FUZZ_READER);
  gradwire::fuzz::accepts(reader, std::string(data, data + size));
  return 0;
}
