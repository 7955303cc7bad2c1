# Fails where two headers define types of one name in one namespace: the linker would take the members of one for those
# of the other. Run by a test of `layering`.
# usage: cmake -DROOT=<repository root> -P CheckNames.cmake

file(GLOB_RECURSE headers RELATIVE "${ROOT}"
  "${ROOT}/sim/*.hpp" "${ROOT}/strategies/*.hpp" "${ROOT}/topologies/*.hpp" "${ROOT}/calibration/*.hpp")
if(NOT headers)
  message(FATAL_ERROR "no headers under '${ROOT}'")
endif()
foreach(header IN LISTS headers)
  file(STRINGS "${ROOT}/${header}" lines REGEX "^(namespace|struct|class|enum class) [^;]*{")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^(namespace|struct|class|enum class) ([A-Za-z0-9_:]*(<[^{]*>)?)" matched "${line}")
    set(word "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    if(word STREQUAL namespace)
      set(scope "${name}")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${scope}::${name}" type)
    if(DEFINED "home_of_${type}")
      message(SEND_ERROR "${header}: ${scope}::${name} is also a type of ${home_of_${type}}")
    endif()
    set("home_of_${type}" "${header}")
  endforeach()
endforeach()
