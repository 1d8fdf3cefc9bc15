# Python, nanobind and how the extension module is built and installed into the wheel.
#
#   mt_add_python_module(_native SOURCES src/bindings.cpp LIBS metatrain_timing::recorder)
#
# Outside the wheel build, Python is the one that -DPython_EXECUTABLE=... names, or the
# first on PATH; nanobind is a package of that Python.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT nanobind_ROOT)
    execute_process(
        COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
        OUTPUT_VARIABLE nanobind_ROOT
        OUTPUT_STRIP_TRAILING_WHITESPACE
        ERROR_QUIET
    )
endif()
find_package(nanobind CONFIG QUIET)
if(NOT nanobind_FOUND)
    message(
        FATAL_ERROR
        "metatrain-timing's Python module needs nanobind: "
        "${Python_EXECUTABLE} -m pip install nanobind"
    )
endif()

function(mt_add_python_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
    set(CMAKE_UNITY_BUILD OFF) # for nanobind's own library too, which this makes
    # Records lie in each thread of its own, so that no GIL is needed.
    nanobind_add_module(${name} NB_STATIC FREE_THREADED ${arg_SOURCES})
    _mt_configure(${name})
    target_link_libraries(${name} PRIVATE ${arg_LIBS})
    # Symbols of the static libraries inside stay inside: another module of the process
    # may hold another version of them.
    target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
    install(TARGETS ${name} LIBRARY DESTINATION metatrain_timing COMPONENT python)
endfunction()

# Read by Python at every start, so it lies at the top of site-packages.
install(
    FILES "${PROJECT_SOURCE_DIR}/recorder/python/metatrain_timing.pth"
    DESTINATION .
    COMPONENT python
    OPTIONAL
)
