#include "sim/cli/command_line.hpp"
#include "sim/cli/large_pages.hpp"

int main(int argc, char** argv) {
  gradwire::cli::take_large_pages();
  return gradwire::cli::run_command_line(argc, argv);
}
