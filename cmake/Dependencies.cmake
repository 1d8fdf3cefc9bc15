# Finds what the parts of this project stand on, each with the name of its package, so
# that a missing one is one line to type. Nothing is downloaded.

# mt_find_package(<name> <Debian package> [<find_package arguments>...])
#
# A macro: packages define targets and variables in the caller's scope.
macro(mt_find_package name debian_package)
    find_package(${name} QUIET ${ARGN})
    if(NOT ${name}_FOUND)
        message(
            FATAL_ERROR
            "metatrain-timing needs ${name}, which was not found. "
            "On Debian or Ubuntu: sudo apt-get install ${debian_package}"
        )
    endif()
endmacro()

mt_find_package(Threads libc6-dev)
# The shared library: Python's own sqlite3 module links it too, and two copies of SQLite
# in one process drop each other's POSIX locks on a database that both have open.
mt_find_package(SQLite3 libsqlite3-dev)
mt_find_package(SQLiteCpp libsqlitecpp-dev)
mt_find_package(fmt libfmt-dev)
mt_find_package(CLI11 libcli11-dev)
mt_find_package(nlohmann_json nlohmann-json3-dev)
mt_find_package(RapidJSON rapidjson-dev)
mt_find_package(ZLIB zlib1g-dev)
mt_find_package(Boost libboost-math-dev)
if(MT_BUILD_TESTS)
    mt_find_package(GTest libgtest-dev)
    if(NOT TARGET GTest::gmock)
        message(FATAL_ERROR "metatrain-timing's tests need GMock: libgmock-dev")
    endif()
endif()
if(MT_BUILD_BENCHMARKS)
    mt_find_package(benchmark libbenchmark-dev)
endif()
