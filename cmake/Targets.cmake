# Helpers that keep the CMakeLists.txt of each component short. All sources are listed by
# name; includes of private headers are from the repository root.
#
# Presets that are not for daily work, and the wheel, join the sources of a library into
# few translation units (CMAKE_UNITY_BUILD): most of the time goes into headers. So two
# files of a library have no two local things of one name.
#
#   mt_add_library(recorder                 # metatrain_timing_recorder, alias and export
#       SOURCES src/ring.cpp src/writer.cpp #   metatrain_timing::recorder
#       PUBLIC_HEADERS_DIR include          # installed; holds metatrain_timing/recorder/...
#       PUBLIC_LIBS metatrain_timing::schema
#       PRIVATE_LIBS SQLiteCpp fmt::fmt
#       PACKAGES SQLiteCpp fmt              # what find_package(metatrain_timing) must find
#       COMPONENTS schema)                  # other components of the package it needs
#
#   mt_add_program(mt-analyze               # an executable, installed into bin/ and the wheel
#       SOURCES cli/main.cpp
#       LIBS metatrain_timing::analyzer CLI11::CLI11)
#
#   mt_install_data(schema                  # files that are shipped as they are: into
#       FROM "${CMAKE_CURRENT_SOURCE_DIR}"  #   share/metatrain_timing/schema, in the wheel
#       PATTERNS *.sql)                     #   metatrain_timing/schema
#
#   mt_add_test(recorder_test               # one GoogleTest executable, in tests/ only
#       SOURCES ring_test.cpp writer_test.cpp
#       LIBS metatrain_timing::recorder
#       PROPERTIES TIMEOUT 60)              # optional, for each of its tests
#
#   mt_add_benchmark(scope_bench SOURCES scope_bench.cpp LIBS metatrain_timing::recorder)
#
#   mt_add_fuzzer(load_fuzz SOURCES load_fuzz.cpp LIBS metatrain_timing::analyzer)

# Adds a component's folder; a component that this checkout does not have is skipped,
# or named, if it was asked for.
function(mt_add_component folder)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
        add_subdirectory("${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/${folder}")
    elseif("REQUIRED" IN_LIST ARGN)
        message(FATAL_ERROR "${folder} is not part of metatrain-timing ${PROJECT_VERSION}")
    endif()
endfunction()

# What libraries and executables have in common.
function(_mt_configure target)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:metatrain_timing_settings>)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# What programs, tests, benchmarks and fuzzers have in common. Their sources are alike
# (each subcommand has its Arguments, each test its helpers), so they are never joined.
macro(_mt_add_executable name)
    add_executable(${name} ${arg_SOURCES})
    _mt_configure(${name})
    target_link_libraries(${name} PRIVATE ${arg_LIBS} ${ARGN})
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endmacro()

function(mt_add_library component)
    cmake_parse_arguments(
        PARSE_ARGV 1 arg "" "PUBLIC_HEADERS_DIR"
        "SOURCES;PUBLIC_LIBS;PRIVATE_LIBS;PACKAGES;COMPONENTS"
    )
    set(target metatrain_timing_${component})
    add_library(${target} STATIC ${arg_SOURCES})
    add_library(metatrain_timing::${component} ALIAS ${target})
    _mt_configure(${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
    if(arg_PUBLIC_HEADERS_DIR)
        cmake_path(ABSOLUTE_PATH arg_PUBLIC_HEADERS_DIR)
        target_include_directories(
            ${target}
            PUBLIC
                "$<BUILD_INTERFACE:${arg_PUBLIC_HEADERS_DIR}>"
                "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
        )
        install(
            DIRECTORY "${arg_PUBLIC_HEADERS_DIR}/"
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
            COMPONENT development
            FILES_MATCHING PATTERN "*.hpp"
        )
    endif()
    target_link_libraries(
        ${target} PUBLIC ${arg_PUBLIC_LIBS} PRIVATE ${arg_PRIVATE_LIBS}
    )
    mt_export_component(
        ${component} PACKAGES ${arg_PACKAGES} COMPONENTS ${arg_COMPONENTS}
    )
endfunction()

# Installs metatrain_timing_<component> and notes it for the package config, each
# component with an export set of its own: who uses one needs the dependencies of that one.
function(mt_export_component component)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PACKAGES;COMPONENTS")
    install(
        TARGETS metatrain_timing_${component}
        EXPORT metatrain_timing_${component}
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
    )
    set_property(GLOBAL APPEND PROPERTY MT_COMPONENTS ${component})
    set_property(GLOBAL PROPERTY MT_${component}_PACKAGES ${arg_PACKAGES})
    set_property(GLOBAL PROPERTY MT_${component}_COMPONENTS ${arg_COMPONENTS})
endfunction()

function(mt_add_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    _mt_add_executable(${name})
    if(SKBUILD)
        install(TARGETS ${name} RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT python)
    else()
        install(
            TARGETS ${name}
            RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT development
        )
    endif()
endfunction()

function(mt_install_data destination)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "PATTERNS")
    list(TRANSFORM arg_PATTERNS PREPEND "PATTERN;")
    if(SKBUILD)
        set(root metatrain_timing)
        set(component python)
    else()
        set(root "${CMAKE_INSTALL_DATADIR}/metatrain_timing")
        set(component development)
    endif()
    install(
        DIRECTORY "${arg_FROM}/"
        DESTINATION "${root}/${destination}"
        COMPONENT ${component}
        FILES_MATCHING ${arg_PATTERNS}
    )
endfunction()

function(mt_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS;PROPERTIES")
    _mt_add_executable(${name} GTest::gmock GTest::gtest GTest::gtest_main)
    # Listed when ctest runs, not at build time: under a sanitizer that costs seconds.
    include(GoogleTest)
    if(NOT arg_PROPERTIES)
        set(arg_PROPERTIES TIMEOUT 120)
    endif()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES ${arg_PROPERTIES})
endfunction()

function(mt_add_benchmark name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    _mt_add_executable(${name} benchmark::benchmark)
endfunction()

function(mt_add_fuzzer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    _mt_add_executable(${name})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
endfunction()
