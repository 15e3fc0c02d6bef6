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
foreach(data topologies scenarios recordings models/data/calibrations)
  get_filename_component(parent "${data}" DIRECTORY)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${data}"
    DESTINATION "${data_dir}/${parent}")
endforeach()

install(FILES "${PROJECT_SOURCE_DIR}/models/data/trust.yaml" "${PROJECT_SOURCE_DIR}/models/data/noise.yaml"
  "${PROJECT_SOURCE_DIR}/models/data/nccl-variables.yaml" "${PROJECT_SOURCE_DIR}/models/data/prices.yaml"
  "${PROJECT_SOURCE_DIR}/models/data/workloads.yaml" "${PROJECT_SOURCE_DIR}/models/data/errors.yaml"
  "${PROJECT_SOURCE_DIR}/models/data/kernels.yaml"
  "${PROJECT_SOURCE_DIR}/models/data/transformers.yaml"
  DESTINATION "${data_dir}/models/data")
install(FILES "${PROJECT_SOURCE_DIR}/tools/web/charts/plot.min.js"
  "${PROJECT_SOURCE_DIR}/tools/web/charts/page.js"
  "${PROJECT_SOURCE_DIR}/tools/web/charts/page.css"
  DESTINATION "${data_dir}/tools/web/charts")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(FILES "${PROJECT_SOURCE_DIR}/tools/web/viewer/viewer.html"
  DESTINATION "${data_dir}/tools/web/viewer")
install(FILES "${PROJECT_SOURCE_DIR}/tools/web/sliders/sliders.html"
  DESTINATION "${data_dir}/tools/web/sliders")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/collsim")
install(EXPORT collsim-targets NAMESPACE collsim:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/collsim-config.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/collsim-config-version.cmake" DESTINATION "${package_dir}")
