#include "sim/cli/command_line.hpp"

int main(int argc, char** argv) {
  return gradwire::cli::run_command_line(argc, argv);
}
