# One consumer test: configures, builds and runs tests/consumer/project in WORK_DIR.
# See CMakeLists.txt for the variables.

# Runs a command; its output is shown and the test ended where it fails.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "failed (${result}): ${ARGN}")
    endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(prefix "${WORK_DIR}/installed")
set(
    configure
    "${CMAKE_COMMAND}"
    -S "${PROJECT_DIR}/tests/consumer/project"
    -B "${WORK_DIR}/build"
    -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
)

if(WAY STREQUAL "subdirectory")
    list(APPEND configure "-DADD_SUBDIRECTORY=${PROJECT_DIR}")
else()
    run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}"
        --component development)
    list(APPEND configure "-DCMAKE_PREFIX_PATH=${prefix}")
endif()

if(WAY STREQUAL "absent_component")
    execute_process(
        COMMAND ${configure} -DEXTRA_COMPONENT=no_such_part
        RESULT_VARIABLE result
        ERROR_VARIABLE error
    )
    string(REGEX REPLACE "[ \n]+" " " error "${error}")
    if(result EQUAL 0 OR NOT error MATCHES "no component 'no_such_part'; it has: schema")
        message(FATAL_ERROR "an absent component was not refused by name: ${error}")
    endif()
    return()
endif()

run(${configure})
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build" --target consumer --parallel 2)
run("${WORK_DIR}/build/consumer" "${WORK_DIR}/run.db")
