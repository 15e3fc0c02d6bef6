# What somebody does who has nothing but the installation in WORK: see run.cmake.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" -G Ninja -S "${WORK}/user" -B "${WORK}/build"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}"
  "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/user")
run("${WORK}/prefix/bin/collsim" run -t switch-8 -b 8 --engine "${ENGINE}")
