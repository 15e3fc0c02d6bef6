# Installs the build, moves the installation, hides the build and the sources, and then builds and runs a
# user's program and the command. Where mounts are not allowed, the trees stay visible, and nothing that
# is installed may name them instead.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
endfunction()

function(expect_no_paths folder)
  file(GLOB_RECURSE files "${folder}/*")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" named REGEX "${SOURCE_DIR}/|${BUILD_DIR}/")
    if(named)
      message(FATAL_ERROR "${file} names ${named}")
    endif()
  endforeach()
endfunction()

execute_process(COMMAND mktemp -d OUTPUT_VARIABLE work OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${work}/elsewhere")
file(RENAME "${work}/elsewhere" "${work}/prefix")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/" DESTINATION "${work}/user")
file(COPY "${SOURCE_DIR}/examples" DESTINATION "${work}/user")
set(use "${CMAKE_COMMAND}" -E env --unset=COLLSIM_DATA "${CMAKE_COMMAND}" "-DWORK=${work}"
  "-DCXX_FLAGS=${CXX_FLAGS}" "-DCXX_COMPILER=${CXX_COMPILER}" "-DENGINE=${ENGINE}"
  -P "${work}/user/use.cmake")
# The build may lie inside of the sources, so it is hidden first.
set(hide unshare -rm sh -c
  "mount -t tmpfs none $1 && mount -t tmpfs none $2 && shift 2 && cd / && exec \"$@\""
  sh "${BUILD_DIR}" "${SOURCE_DIR}")
execute_process(COMMAND ${hide} true RESULT_VARIABLE cannot_hide OUTPUT_QUIET ERROR_QUIET)
if(cannot_hide)
  expect_no_paths("${work}/prefix")
  run(${use})
else()
  run(${hide} ${use})
endif()
file(REMOVE_RECURSE "${work}")
