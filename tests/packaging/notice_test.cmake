# Every data file has a line in NOTICE that says where its figures come from, and every line has a file.
# usage: cmake -DROOT=<repository root> -P notice_test.cmake

file(GLOB_RECURSE files RELATIVE "${ROOT}"
  "${ROOT}/profiles/*.yaml" "${ROOT}/topologies/*.yaml" "${ROOT}/scenarios/*.yaml" "${ROOT}/strategies/*.yaml"
  "${ROOT}/results/reference/*")
if(NOT files)
  message(FATAL_ERROR "no data files under '${ROOT}'")
endif()
file(STRINGS "${ROOT}/NOTICE" lines REGEX "^(profiles|topologies|scenarios|strategies|results)/")
if(NOT lines)
  message(FATAL_ERROR "no table in '${ROOT}/NOTICE'")
endif()

foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([^ |]+) \\| ([^|]+) \\| ([^|]+)$")
    message(SEND_ERROR "NOTICE: '${line}'; expected 'path | source | terms'")
    continue()
  endif()
  string(REPLACE "." "[.]" pattern "${CMAKE_MATCH_1}")
  string(REPLACE "*" "[^/]*" pattern "${pattern}")
  set(matched ${files})
  list(FILTER matched INCLUDE REGEX "^${pattern}$")
  if(NOT matched)
    message(SEND_ERROR "NOTICE: no file is '${CMAKE_MATCH_1}'")
  endif()
  list(APPEND covered ${matched})
endforeach()

list(REMOVE_ITEM files ${covered})
foreach(file IN LISTS files)
  message(SEND_ERROR "${file}: no line of NOTICE says where it comes from")
endforeach()
