# Installs into a scratch prefix, and runs the program there, from elsewhere: it must use the data installed with it.
# usage: cmake -DBUILD=<build folder> -DWORK=<scratch folder> -P installed_program_test.cmake

function(must_run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK}"
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "exit code ${status} from: ${ARGN}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
must_run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
set(program "${WORK}/prefix/bin/gradwire")
set(data "${WORK}/prefix/share/gradwire")
must_run("${program}" run "${data}/scenarios/quickstart.yaml")

# A profile that only this prefix has: the program that lists it reads the installed data, not the source tree's.
file(GLOB_RECURSE profile LIST_DIRECTORIES false "${data}/profiles/resnet50/*.yaml")
list(GET profile 0 profile)
file(COPY_FILE "${profile}" "${data}/profiles/resnet50/only_installed.yaml")
must_run("${program}" list profiles)
if(NOT output MATCHES "resnet50/only_installed")
  message(FATAL_ERROR "the installed program does not list its own profiles:\n${output}")
endif()
