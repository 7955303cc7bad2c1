# CheckLayering.cmake, held against made-up trees of one file: what it must accept, and what it must refuse and why.
# usage: cmake -DCHECK=<CheckLayering.cmake> -DWORK=<scratch folder> -P check_layering_test.cmake

# "accept|refuse file including: header as written -> words of the message"
set(cases
  [[accept sim/engine/ring.cpp including: "sim/core/units.hpp" ->]]
  [[accept sim/engine/simgrid_transport.cpp including: <simgrid/s4u.hpp> ->]]
  [[accept sim/config/yaml.cpp including: <yaml.h> ->]]
  [[accept sim/core/units.cpp including: <vector> ->]]
  [[accept strategies/all_reduce/ddp.cpp including: "sim/collectives/pattern.hpp" ->]]
  [[refuse sim/core/units.cpp including: "sim/engine/engine.hpp" -> must not include 'sim/engine/engine.hpp']]
  [[refuse sim/core/units.cpp including: <sim/engine/engine.hpp> -> must not include 'sim/engine/engine.hpp']]
  [[refuse sim/engine/ring.cpp including: "ring.hpp" -> of ours it may include sim/engine/]]
  [[refuse strategies/all_reduce/ddp.cpp including: "sim/collectives/ring.hpp" -> must not include 'sim/collectives/ring.hpp']]
  [[accept strategies/parts/lane.cpp including: "strategies/strategy.hpp" ->]]
  [[refuse strategies/parts/lane.cpp including: "strategies/horovod/horovod.hpp" -> must not include 'strategies/horovod/horovod.hpp']]
  [[refuse strategies/sharded/fsdp.cpp including: "strategies/servers/p3.hpp" -> must not include 'strategies/servers/p3.hpp']]
  [[refuse strategies/strategy.hpp including: "strategies/parts/lane.hpp" -> must not include 'strategies/parts/lane.hpp']]
  [[accept calibration/import/kineto.cpp including: "calibration/attribution/trace_index.hpp" ->]]
  [[refuse calibration/attribution/summary.cpp including: "calibration/import/kineto.hpp" -> must not include 'calibration/import/kineto.hpp']]
  [[refuse calibration/trace/trace.cpp including: "calibration/fit/profile_fit.hpp" -> must not include 'calibration/fit/profile_fit.hpp']]
  [[refuse sim/train/loop.cpp including: <simgrid/s4u.hpp> -> its place is sim/engine/simgrid_]]
  [[refuse sim/engine/ring.cpp including: <xbt/log.h> -> its place is sim/engine/simgrid_]]
  [[refuse sim/core/profile.cpp including: <yaml.h> -> its place is sim/config/]]
  [[refuse sim/engine/ring.cpp including: <nlohmann/json.hpp> -> its place is sim/report/]]
  [[refuse sim/config/scenario.cpp including: <CLI/CLI.hpp> -> its place is sim/cli/]]
  [[refuse sim/elsewhere/new.cpp including: <vector> -> its folder has no arrow]]
)

foreach(case IN LISTS cases)
  string(REGEX MATCH "^([a-z]+) ([^ ]+) including: ([^ ]+) -> ?(.*)$" matched "${case}")
  set(wanted "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  set(header "${CMAKE_MATCH_3}")
  set(words "${CMAKE_MATCH_4}")
  file(REMOVE_RECURSE "${WORK}")
  file(WRITE "${WORK}/${file}" "#include ${header}\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${WORK}" -P "${CHECK}"
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake wraps messages
  string(FIND "${output}" "${words}" position)
  if(wanted STREQUAL accept AND NOT status EQUAL 0)
    message(SEND_ERROR "refused, but should accept: ${case}\n${output}")
  elseif(wanted STREQUAL refuse AND (status EQUAL 0 OR position EQUAL -1))
    message(SEND_ERROR "should refuse with its reason: ${case}\n${output}")
  endif()
endforeach()
