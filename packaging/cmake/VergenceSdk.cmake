# What people need to write labs against an installed studio: headers, libraries (vergence_add_library), CMake package. All of
# it is the install component `sdk`.

include(CMakePackageConfigHelpers)

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/Vergence)
install(DIRECTORY core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vergence COMPONENT sdk
    FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(EXPORT VergenceLibraries NAMESPACE Vergence:: DESTINATION ${_package} COMPONENT sdk)
configure_package_config_file(packaging/cmake/VergenceConfig.cmake.in VergenceConfig.cmake INSTALL_DESTINATION ${_package})
write_basic_package_version_file(VergenceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/VergenceConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/VergenceConfigVersion.cmake
    packaging/cmake/VergencePlugin.cmake
    DESTINATION ${_package} COMPONENT sdk)
