include(CMakePackageConfigHelpers)

install(TARGETS collsim EXPORT collsim-targets)
if(COLLSIM_SIMGRID)
  install(TARGETS collsim-simgrid LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(TARGETS collsim-command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
foreach(layer sim models)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${layer}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/collsim" FILES_MATCHING PATTERN "*.h")
endforeach()
foreach(data topologies scenarios recordings models/calibrations)
  get_filename_component(parent "${data}" DIRECTORY)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${data}"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/collsim/${parent}")
endforeach()

install(FILES "${PROJECT_SOURCE_DIR}/models/trust.yaml"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/collsim/models")
install(FILES "${PROJECT_SOURCE_DIR}/tools/charts/plot.min.js"
  "${PROJECT_SOURCE_DIR}/tools/charts/validation.js"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/collsim/tools/charts")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/collsim")
install(EXPORT collsim-targets NAMESPACE collsim:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/collsim-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake" DESTINATION "${package_dir}")
