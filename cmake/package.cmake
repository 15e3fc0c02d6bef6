# `cpack --config build/release/CPackConfig.cmake` makes a package for Debian.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME collsim)
set(CPACK_PACKAGE_VENDOR "the collsim authors")
set(CPACK_PACKAGE_CONTACT "the collsim authors <collsim@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"collsim predicts how long a collective of NCCL takes on a machine of GPUs that
 a few lines of YAML describe, and explains why. It needs no GPU.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is linked is found by dpkg-shlibdeps. Modules that a laptop may lack are loaded on demand.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}")
# What --png of crossover runs.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS librsvg2-bin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE "${PROJECT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/triggers")
include(CPack)
