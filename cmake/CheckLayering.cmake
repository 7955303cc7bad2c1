# Fails where a file includes what its layer must not see; run by the test `layering`.
# usage: cmake -DROOT=<repository root> -P CheckLayering.cmake

# What all of strategies/ may see: its seam with the training loop, and what that is written in.
set(seam "strategies/knobs.hpp strategies/strategy.hpp strategies/operations.hpp sim/collectives/pattern.hpp sim/core/")

# The arrows: what a folder may include of ours, as prefixes of paths. Every folder also sees itself.
set(arrows
  "sim/core/        ->"
  "sim/collectives/ -> sim/core/"
  "sim/cost/        -> sim/collectives/ sim/core/"
  "sim/models/      -> sim/core/"
  "sim/engine/      -> sim/cost/ sim/collectives/ sim/core/"
  "strategies/parts/               -> ${seam}"
  "strategies/horovod/             -> strategies/parts/ ${seam}"
  "strategies/all_reduce/          -> strategies/horovod/ strategies/parts/ ${seam}"
  "strategies/servers/             -> strategies/horovod/ strategies/parts/ ${seam}"
  "strategies/peers/               -> strategies/parts/ ${seam}"
  "strategies/sharded/             -> strategies/parts/ ${seam}"
  "strategies/compression/systems  -> strategies/compression/ strategies/all_reduce/ strategies/parts/ ${seam}"
  "strategies/compression/         -> strategies/parts/ ${seam}"
  "strategies/operations.hpp       -> sim/collectives/pattern.hpp sim/core/"
  "strategies/strategy.hpp         -> ${seam}"
  "strategies/knobs.hpp            -> ${seam}"
  "topologies/      -> sim/core/"
  "sim/train/       -> strategies/ sim/engine/ sim/cost/ sim/collectives/ sim/core/"
  "sim/report/      -> sim/collectives/pattern.hpp sim/core/"
  "sim/config/      -> sim/models/ strategies/ topologies/ sim/cost/ sim/collectives/ sim/core/"
  "sim/validation/  -> sim/config/ sim/train/ sim/engine/ sim/models/ sim/cost/ sim/collectives/ sim/core/ strategies/ topologies/ calibration/fit/"
  "sim/cli/         -> sim/ strategies/ topologies/ calibration/"
  "calibration/capture/ -> sim/core/output_file.hpp"
  "calibration/lab/ -> sim/core/output_file.hpp"
  "calibration/trace/       -> sim/collectives/pattern.hpp sim/core/"
  "calibration/attribution/ -> calibration/trace/ sim/collectives/pattern.hpp sim/core/"
  "calibration/fit/         -> calibration/attribution/ calibration/trace/ sim/cost/ sim/collectives/ sim/core/"
  "calibration/import/      -> calibration/fit/ calibration/attribution/ calibration/trace/ calibration/capture/inject/ sim/config/yaml/ sim/cost/ sim/collectives/ sim/core/"
)

# The libraries with a place of their own: how their headers begin -> the files that may include them.
set(libraries
  "(simgrid|xbt)/            -> sim/engine/simgrid_"
  "yaml[.]h                  -> sim/config/"
  "nlohmann/                 -> sim/report/ sim/config/ sim/validation/ sim/cli/ calibration/"
  "CLI/                      -> sim/cli/ calibration/capture/bench/arguments.cpp"
  "mpi[.]h                   -> calibration/lab/"
  "pugi                      -> topologies/importers/"
  "simdjson                  -> calibration/import/kineto calibration/import/execution_trace"
  "sqlite3                   -> calibration/import/nsys sim/cli/point_store"
  "zlib                      -> calibration/import/compressed_file"
)

# Sets `result` to whether `path` begins with one of the prefixes in the string `prefixes`.
function(begins_with_one_of path prefixes result)
  string(REGEX MATCHALL "[^ ]+" prefixes "${prefixes}")
  set(${result} FALSE PARENT_SCOPE)
  foreach(prefix IN LISTS prefixes)
    string(FIND "${path}" "${prefix}" position)
    if(position EQUAL 0)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Splits "left -> right" into the variables `left` and `right`.
macro(split_rule rule)
  string(REGEX MATCH "^([^ ]+) +->(.*)$" matched "${rule}")
  set(left "${CMAKE_MATCH_1}")
  set(right "${CMAKE_MATCH_2}")
endmacro()

# Sets `result` to the prefixes that `file` may include of ours; fails for a folder without arrows.
function(visible_from file result)
  set(${result} "" PARENT_SCOPE)
  foreach(arrow IN LISTS arrows)
    split_rule("${arrow}")
    begins_with_one_of("${file}" "${left}" here)
    if(here)
      set(${result} "${left}${right}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(SEND_ERROR "${file}: its folder has no arrow in CheckLayering.cmake")
endfunction()

# Quoted includes are ours, and written from the repository's root.
function(check_include file header quoted visible)
  begins_with_one_of("${header}" "${visible}" allowed)
  if((quoted OR header MATCHES "^(sim|strategies|topologies|calibration)/") AND NOT allowed)
    message(SEND_ERROR "${file}: must not include '${header}'; of ours it may include ${visible}")
  endif()
  foreach(library IN LISTS libraries)
    split_rule("${library}")
    begins_with_one_of("${file}" "${right}" allowed)
    if(header MATCHES "^${left}" AND NOT allowed)
      message(SEND_ERROR "${file}: must not include '${header}'; its place is${right}")
    endif()
  endforeach()
endfunction()

file(GLOB_RECURSE files RELATIVE "${ROOT}"
  "${ROOT}/sim/*.?pp" "${ROOT}/strategies/*.?pp" "${ROOT}/topologies/*.?pp" "${ROOT}/calibration/*.?pp"
  "${ROOT}/calibration/*.cu" "${ROOT}/calibration/*.cuh")
if(NOT files)
  message(FATAL_ERROR "no sources under '${ROOT}'")
endif()
foreach(file IN LISTS files)
  visible_from("${file}" visible)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^ *# *include")
  foreach(line IN LISTS lines)
    if(line MATCHES "include *([<\"])([^>\"]+)")
      string(COMPARE EQUAL "${CMAKE_MATCH_1}" "\"" quoted)
      check_include("${file}" "${CMAKE_MATCH_2}" ${quoted} "${visible}")
    endif()
  endforeach()
endforeach()
