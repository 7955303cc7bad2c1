# CheckNames.cmake, held against made-up trees of two headers: what it must accept, and what it must refuse and why.
# usage: cmake -DCHECK=<CheckNames.cmake> -DWORK=<scratch folder> -P check_names_test.cmake

# Of a first header that is "namespace gradwire {", "struct Link {", whether a second one is refused.
function(expect wanted)
  string(JOIN "\n" second ${ARGN})
  file(REMOVE_RECURSE "${WORK}")
  file(WRITE "${WORK}/sim/core/first.hpp" "namespace gradwire {\nstruct Link {\n};\n}\n")
  file(WRITE "${WORK}/topologies/second.hpp" "${second}\n")
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${WORK}" -P "${CHECK}"
    RESULT_VARIABLE status ERROR_VARIABLE output OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake wraps messages
  string(FIND "${output}" "gradwire::Link is also a type of sim/core/first.hpp" position)
  if(wanted STREQUAL accept AND NOT status EQUAL 0)
    message(SEND_ERROR "refused, but should accept: ${second}\n${output}")
  elseif(wanted STREQUAL refuse AND (status EQUAL 0 OR position EQUAL -1))
    message(SEND_ERROR "should refuse with its reason: ${second}\n${output}")
  endif()
endfunction()

expect(accept "namespace gradwire {" "struct Port {")
expect(accept "namespace gradwire::config {" "struct Link {")
expect(accept "namespace gradwire {" "struct Port {" "  struct Link {")
expect(refuse "namespace gradwire {" "struct Link {")
expect(refuse "namespace gradwire {" "class Link final : public Wire {")
expect(refuse "namespace gradwire {" "enum class Link : int {")
