include(CMakePackageConfigHelpers)

# Components are the packages of package.cmake: what the command needs, modules that need SimGrid or MPI, the shared
# library, and what a program is compiled with.
install(TARGETS collsim EXPORT collsim-targets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development)
foreach(module collsim-simgrid collsim-mpi)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION "${module_dir}" COMPONENT extras)
  endif()
endforeach()
install(TARGETS nccl-tuner-collsim LIBRARY DESTINATION "${module_dir}" COMPONENT command)
install(TARGETS collsim-command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/collsim" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
# The data that commands read, below `folder`. More arguments (COMPONENT ...) go to install().
function(collsim_install_data folder)
  foreach(data topologies scenarios recordings)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${data}" DESTINATION "${folder}" ${ARGN})
  endforeach()
  # Plans of fits are for those who have the sources.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/models/data" DESTINATION "${folder}/models" ${ARGN}
    PATTERN fits EXCLUDE)
  foreach(part charts/plot.min.js charts/page.js charts/page.css viewer/viewer.html)
    get_filename_component(parent "${part}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/tools/web/${part}" DESTINATION "${folder}/tools/web/${parent}" ${ARGN})
  endforeach()
endfunction()
collsim_install_data("${data_dir}" COMPONENT command)

# What help texts point to.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command
  PATTERN notebooks EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT command)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)

install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/collsim.bash"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME collsim COMPONENT command)
install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/_collsim"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions" COMPONENT command)
install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/collsim.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT command)

# Man pages say what --help says, so they are made from it.
find_program(HELP2MAN help2man)
if(HELP2MAN AND PROJECT_IS_TOP_LEVEL)
  set(man_pages "${PROJECT_BINARY_DIR}/man")
  add_custom_command(OUTPUT "${man_pages}/collsim.1.gz"
    COMMAND "${PROJECT_SOURCE_DIR}/tools/man/make-man-pages" "$<TARGET_FILE:collsim-command>" "${man_pages}"
    DEPENDS collsim-command "${PROJECT_SOURCE_DIR}/tools/man/make-man-pages" VERBATIM
    COMMENT "Writing man pages")
  add_custom_target(collsim-man-pages ALL DEPENDS "${man_pages}/collsim.1.gz")
  install(DIRECTORY "${man_pages}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND "${CMAKE_COMMAND}" "-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
      -P "${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake" VERBATIM)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/collsim")
install(EXPORT collsim-targets NAMESPACE collsim:: DESTINATION "${package_dir}" COMPONENT development)
configure_package_config_file(cmake/collsim-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH pc_to_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/collsim.pc.in "${CMAKE_CURRENT_BINARY_DIR}/collsim.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/collsim.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake" DESTINATION "${package_dir}" COMPONENT development)
