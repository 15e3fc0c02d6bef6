# `cpack --config build/release/CPackConfig.cmake` makes packages for Debian: the command; modules for SimGrid and MPI;
# the shared library; what programs are compiled with; and, where COLLSIM_PYTHON is on, the Python module.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME collsim)
set(CPACK_PACKAGE_VENDOR "the collsim authors")
set(CPACK_PACKAGE_CONTACT "the collsim authors <authors@collsim.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# What is linked is found by dpkg-shlibdeps. Modules that a laptop may lack are loaded on demand.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENTS_ALL)
set(soname "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(this_one "(= ${PROJECT_VERSION})")

# A package of a component: its name, its section, one line on what it is, and what follows.
macro(collsim_package component name section summary description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  set(package_files "${PROJECT_BINARY_DIR}/debian/${name}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/debian-changelog.in" "${package_files}/changelog" @ONLY)
  execute_process(COMMAND gzip -9nf "${package_files}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${package_files}/changelog.gz" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}"
    COMPONENT ${component})
  # Debian looks for the licences of a package in this file.
  install(FILES "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}"
    RENAME copyright COMPONENT ${component})
endmacro()

collsim_package(command collsim science "predict how long collectives of NCCL take"
"collsim predicts how long a collective of NCCL takes on a machine of GPUs that
 a few lines of YAML describe, and explains why. It needs no GPU.")
# What --png of crossover runs.
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "librsvg2-bin, collsim-extras ${this_one}")
collsim_package(extras collsim-extras science "engine of SimGrid and sweeps over MPI for collsim"
"The engine simgrid, a reference for collsim's own, and the module by which
 mpirun spreads a sweep over hosts.")
set(CPACK_DEBIAN_EXTRAS_PACKAGE_DEPENDS "collsim ${this_one}")
collsim_package(library libcollsim${soname} libs "predict how long collectives of NCCL take, as a library"
"The library of collsim for programs in C and C++. It answers what the command
 answers, from the command's data.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "collsim ${this_one}")
collsim_package(development libcollsim-dev libdevel "headers of collsim for programs in C and C++"
"What a program is compiled with: headers, the link to the library, files for
 CMake and pkg-config, examples.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libcollsim${soname} ${this_one}")
if(COLLSIM_PYTHON)
  collsim_package(debian-python python3-collsim python "predict how long collectives of NCCL take, from Python"
"Functions that answer what the command answers, as columns of NumPy or as
 dictionaries.")
  set(built_for "${PYTHON_VERSION_MAJOR}.${PYTHON_VERSION_MINOR}")
  set(CPACK_DEBIAN_DEBIAN-PYTHON_PACKAGE_DEPENDS
    "collsim ${this_one}, python3 (>= ${built_for}), python3 (<< ${built_for}.99), python3-numpy")
  # What Python compiles beside the sources is no file of the package.
  file(WRITE "${package_files}/prerm" "#!/bin/sh\nset -e\npy3clean -p python3-collsim\n")
  set(CPACK_DEBIAN_DEBIAN-PYTHON_PACKAGE_CONTROL_EXTRA "${package_files}/prerm")
endif()
file(WRITE "${PROJECT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers")
include(CPack)
