# SimGrid ships no CMake package file: find header and library, read the version from the header.
find_path(SimGrid_INCLUDE_DIR simgrid/version.h)
find_library(SimGrid_LIBRARY simgrid)
if(SimGrid_INCLUDE_DIR)
  file(STRINGS "${SimGrid_INCLUDE_DIR}/simgrid/version.h" _lines REGEX "define SIMGRID_VERSION_(MAJOR|MINOR)")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" SimGrid_VERSION "${_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR VERSION_VAR SimGrid_VERSION)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES IMPORTED_LOCATION "${SimGrid_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${SimGrid_INCLUDE_DIR}")
endif()
