# find_package(plenum) for others: headers, libraries, targets.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(plenum_targets plenum)
if(TARGET plenum_draw)
  list(APPEND plenum_targets plenum_draw)
endif()
install(TARGETS ${plenum_targets} EXPORT plenumTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/plenum DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT plenumTargets NAMESPACE plenum:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plenum)
configure_package_config_file(cmake/plenumConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/plenumConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plenum)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/plenumConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plenumConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/plenumConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plenum)
