# The CMake package: find_package(metatrain_timing COMPONENTS recorder).
include(CMakePackageConfigHelpers)

set(mt_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/metatrain_timing")
get_property(mt_components GLOBAL PROPERTY MT_COMPONENTS)

# What each component needs, as text that the config file reads back.
set(mt_component_needs "")
foreach(component IN LISTS mt_components)
    get_property(packages GLOBAL PROPERTY MT_${component}_PACKAGES)
    get_property(components GLOBAL PROPERTY MT_${component}_COMPONENTS)
    string(APPEND mt_component_needs "set(_mt_${component}_packages ${packages})\n")
    string(APPEND mt_component_needs "set(_mt_${component}_components ${components})\n")
    install(
        EXPORT metatrain_timing_${component}
        NAMESPACE metatrain_timing::
        FILE metatrain_timing-${component}.cmake
        DESTINATION "${mt_package_dir}"
        COMPONENT development
    )
endforeach()

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/metatrain_timing-config.cmake.in"
    "${PROJECT_BINARY_DIR}/metatrain_timing-config.cmake"
    INSTALL_DESTINATION "${mt_package_dir}"
    NO_SET_AND_CHECK_MACRO
)
# Before 1.0 a minor version may break the C++ API.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/metatrain_timing-config-version.cmake"
    COMPATIBILITY SameMinorVersion
)
install(
    FILES
        "${PROJECT_BINARY_DIR}/metatrain_timing-config.cmake"
        "${PROJECT_BINARY_DIR}/metatrain_timing-config-version.cmake"
    DESTINATION "${mt_package_dir}"
    COMPONENT development
)
install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT development
)
