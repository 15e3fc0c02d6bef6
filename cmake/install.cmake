include(CMakePackageConfigHelpers)

install(TARGETS collsim EXPORT collsim-targets)
if(COLLSIM_SIMGRID)
  install(TARGETS collsim-simgrid LIBRARY DESTINATION "${module_dir}")
endif()
if(TARGET collsim-mpi)
  install(TARGETS collsim-mpi LIBRARY DESTINATION "${module_dir}")
endif()
install(TARGETS collsim-command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/collsim" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# The data that commands read, below `folder`. More arguments (COMPONENT ...) go to install().
function(collsim_install_data folder)
  foreach(data topologies scenarios recordings)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${data}" DESTINATION "${folder}" ${ARGN})
  endforeach()
  # Plans of fits are for those who have the sources.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/models/data" DESTINATION "${folder}/models" ${ARGN}
    PATTERN fits EXCLUDE)
  foreach(part charts/plot.min.js charts/page.js charts/page.css viewer/viewer.html sliders/sliders.html)
    get_filename_component(parent "${part}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/tools/web/${part}" DESTINATION "${folder}/tools/web/${parent}" ${ARGN})
  endforeach()
endfunction()
collsim_install_data("${data_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# Debian looks for the licences of a package in this file.
install(FILES "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)

install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/collsim.bash"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME collsim)
install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/_collsim"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/collsim.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

# Man pages say what --help says, so they are made from it.
find_program(HELP2MAN help2man)
if(HELP2MAN AND PROJECT_IS_TOP_LEVEL)
  set(man_pages "${PROJECT_BINARY_DIR}/man")
  add_custom_command(OUTPUT "${man_pages}/collsim.1.gz"
    COMMAND "${PROJECT_SOURCE_DIR}/tools/man/make-man-pages" "$<TARGET_FILE:collsim-command>" "${man_pages}"
    DEPENDS collsim-command "${PROJECT_SOURCE_DIR}/tools/man/make-man-pages" VERBATIM
    COMMENT "Writing man pages")
  add_custom_target(collsim-man-pages ALL DEPENDS "${man_pages}/collsim.1.gz")
  install(DIRECTORY "${man_pages}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND "${CMAKE_COMMAND}" "-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
      -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake" VERBATIM)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/collsim")
install(EXPORT collsim-targets NAMESPACE collsim:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/collsim-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake" DESTINATION "${package_dir}")
