# The build for browsers, by Debian's Emscripten: other people's libraries, compiled from the sources that
# tools/dev/build-web takes from Debian, and how the command becomes a module. Headers are those of Debian's own packages.
enable_language(C)
set(web_sources "${PROJECT_SOURCE_DIR}/build/web-sources")
set(web_engine "${PROJECT_SOURCE_DIR}/tools/web/engine")

# Exceptions are those of WebAssembly itself, not of JavaScript. Warnings are for GCC to give: Clang's of 32 bits are others.
add_compile_options(-w -fwasm-exceptions "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${web_engine}/shims.h>")
add_link_options(-fwasm-exceptions)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

# Headers of the compiler's own machine must not be found beside those of libraries, so links lead to the latter.
set(web_headers "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${web_headers}")
foreach(header boost fmt gumbo.h nlohmann protozero pugiconfig.hpp pugixml.hpp tag_enum.h yaml-cpp zlib.h zconf.h)
  file(CREATE_LINK "/usr/include/${header}" "${web_headers}/${header}" SYMBOLIC)
endforeach()
file(CREATE_LINK /usr/include/eigen3/Eigen "${web_headers}/Eigen" SYMBOLIC)

# A library of the sources that patterns below build/web-sources name; without any, of headers alone.
function(web_library target)
  file(GLOB sources ${ARGN})
  string(REPLACE "::" "-" name "web-${target}")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} SYSTEM PUBLIC "${web_headers}")
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} SYSTEM INTERFACE "${web_headers}")
  endif()
  add_library(${target} ALIAS ${name})
endfunction()
web_library(Boost::program_options "${web_sources}/boost1.74/libs/program_options/src/*.cpp")
web_library(fmt::fmt "${web_sources}/fmtlib/src/format.cc" "${web_sources}/fmtlib/src/os.cc")
web_library(pugixml::pugixml "${web_sources}/pugixml/src/pugixml.cpp")
web_library(yaml-cpp "${web_sources}/yaml-cpp/src/*.cpp")
web_library(ZLIB::ZLIB "${web_sources}/zlib/*.c")
target_compile_definitions(web-ZLIB-ZLIB PRIVATE HAVE_UNISTD_H)  # as zlib's configure finds it; else its lseek is another
foreach(target Eigen3::Eigen Gumbo::Gumbo nlohmann_json::nlohmann_json)
  web_library(${target})
endforeach()
set(PROTOZERO_INCLUDE_DIR "${web_headers}")
add_library(collsim_checked INTERFACE)

# Makes build/web/collsim.js and collsim.wasm of the command: createCollsim() gives a module whose callMain() takes arguments.
function(collsim_web_command target)
  target_sources(collsim-core PRIVATE "${web_engine}/left_out.cpp")
  set_source_files_properties("${web_engine}/left_out.cpp" TARGET_DIRECTORY collsim-core
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(${target} PRIVATE -sMODULARIZE -sEXPORT_NAME=createCollsim -sINVOKE_RUN=0
    -sEXPORTED_RUNTIME_METHODS=callMain,FS,ENV -sENVIRONMENT=web,worker,node -sALLOW_MEMORY_GROWTH
    -sMAXIMUM_MEMORY=2GB -sTOTAL_STACK=8MB -sINITIAL_MEMORY=64MB -sERROR_ON_UNDEFINED_SYMBOLS=1)
endfunction()
