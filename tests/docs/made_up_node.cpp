// Writes the folder of the made-up node that docs/calibrate.md goes through.
// usage: gradwire_made_up_node FOLDER

#include "tests/calibration/made_up_node.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  gradwire::calibration::test::write_made_up_node(argv[1]);
  return 0;
}
