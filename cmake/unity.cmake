# Under CMAKE_UNITY_BUILD: which sources of a target are compiled as one.
function(collsim_unity_groups target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_target_property(sources ${target} SOURCES)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/unity_groups.py"
      "${CMAKE_BINARY_DIR}/unity-groups-${target}.txt" ${sources}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.*)$" matched "${line}")
    set_property(SOURCE "${CMAKE_MATCH_2}" PROPERTY UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_property(TARGET ${target} PROPERTY UNITY_BUILD_MODE GROUP)
endfunction()
