# What every target of this project is compiled with, in one interface target:
# metatrain_timing_settings. It is linked as $<BUILD_INTERFACE:...>, so that neither
# warnings nor sanitizers reach a project that uses the installed package.

# The libraries end up in a Python module, so all code is position independent; a
# project that adds this one by add_subdirectory() keeps its own choice.
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
    endif()
    if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
        find_program(MT_CCACHE ccache)
        mark_as_advanced(MT_CCACHE)
        if(MT_CCACHE)
            set(CMAKE_CXX_COMPILER_LAUNCHER "${MT_CCACHE}")
        endif()
    endif()
endif()

add_library(metatrain_timing_settings INTERFACE)
target_compile_features(metatrain_timing_settings INTERFACE cxx_std_20)
target_compile_options(
    metatrain_timing_settings
    INTERFACE
        -Wall
        -Wextra
        -Wpedantic
        -Wshadow
        -Wconversion
        -Wsign-conversion
        -Wnon-virtual-dtor
        -Woverloaded-virtual
        # "text" + string() is taken for an overlapping copy: gcc bug 105651, in 12 only
        $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
        $<$<BOOL:${MT_WARNINGS_AS_ERRORS}>:-Werror>
)
# Assertions of the standard library wherever assertions are on: an index out of range
# in a std::span or std::vector stops the test at the place.
target_compile_definitions(
    metatrain_timing_settings INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>
)

if(MT_SANITIZE)
    set(mt_known_sanitizers address undefined address,undefined thread)
    if(NOT MT_SANITIZE IN_LIST mt_known_sanitizers)
        list(JOIN mt_known_sanitizers "', '" mt_known_sanitizers)
        message(FATAL_ERROR "MT_SANITIZE is '${MT_SANITIZE}'; known: '${mt_known_sanitizers}'")
    endif()
    set(mt_sanitizer_flags -fsanitize=${MT_SANITIZE} -fno-omit-frame-pointer)
    if(MT_SANITIZE MATCHES "undefined")
        list(APPEND mt_sanitizer_flags -fno-sanitize-recover=undefined)
    endif()
    # What others do in their headers, where the compiler (Clang) can be told.
    if(MT_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        list(
            APPEND mt_sanitizer_flags
            "-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitizer_ignorelist.txt"
        )
    endif()
    target_compile_options(metatrain_timing_settings INTERFACE ${mt_sanitizer_flags})
    target_link_options(metatrain_timing_settings INTERFACE ${mt_sanitizer_flags})
endif()

# Fuzzing counts the edges of all our code, not of the fuzz target alone.
if(MT_BUILD_FUZZERS)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "MT_BUILD_FUZZERS needs clang (preset fuzz, package clang-14)")
    endif()
    target_compile_options(
        metatrain_timing_settings INTERFACE -fsanitize=fuzzer-no-link
    )
endif()
