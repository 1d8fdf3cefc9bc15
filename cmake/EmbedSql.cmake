# Makes <metatrain_timing/schema/sql.hpp> of the .sql files below a schema folder, so that
# recorder, analyzer and tests run the very text that is documented and shipped.
#
#   mt_embed_sql(SCHEMA_DIR schema OUTPUT include/metatrain_timing/schema/sql.hpp)
#
# Read are
#   migrations/*.sql    in the order of their names; the first sets PRAGMA application_id,
#                       each sets PRAGMA user_version = MAJOR * 10000 + MINOR * 100 + MICRO
#   views/*.sql         in the order of views.txt, if there, one name without .sql a line
#                       ('#' begins a comment); it must name every view
#   statements/*.sql    file name = identifier
# A change of any of them, a new file too, configures the build again.

function(_mt_append_sql_array out folder name_of_array)
    set(text "")
    foreach(name IN LISTS ARGN)
        file(READ "${folder}/${name}.sql" sql)
        string(APPEND text "    {\"${name}\", R\"mt_sql(${sql})mt_sql\"},\n")
        set_property(
            DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql"
        )
    endforeach()
    list(LENGTH ARGN count)
    set(text "inline constexpr std::array<NamedSql, ${count}> ${name_of_array}{{\n${text}}};\n")
    set(${out} "${${out}}${text}" PARENT_SCOPE)
endfunction()

# The names, without .sql, of the SQL files of `folder`, sorted.
function(_mt_list_sql out folder)
    file(GLOB files CONFIGURE_DEPENDS "${folder}/*.sql")
    set(names "")
    foreach(file IN LISTS files)
        cmake_path(GET file STEM LAST_ONLY name)
        list(APPEND names "${name}")
    endforeach()
    list(SORT names)
    set(${out} "${names}" PARENT_SCOPE)
endfunction()

# Puts `names` into the order that `list_file` gives; both must hold the same names.
function(_mt_order_sql names list_file)
    file(STRINGS "${list_file}" lines REGEX "^[^#]")
    set(ordered "")
    foreach(line IN LISTS lines)
        string(STRIP "${line}" line)
        if(line)
            list(APPEND ordered "${line}")
        endif()
    endforeach()
    set(sorted ${ordered})
    list(SORT sorted)
    if(NOT sorted STREQUAL "${${names}}")
        message(
            FATAL_ERROR
            "${list_file} does not name exactly the files beside it.\n"
            "  listed: ${sorted}\n  found:  ${${names}}"
        )
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list_file}")
    set(${names} "${ordered}" PARENT_SCOPE)
endfunction()

# The value of `PRAGMA <pragma> = <number>` in the last of the migrations that sets it.
function(_mt_read_pragma out folder pragma)
    set(value 0)
    foreach(name IN LISTS ARGN)
        file(READ "${folder}/${name}.sql" sql)
        if(sql MATCHES "\n[ ]*PRAGMA[ ]+${pragma}[ ]*=[ ]*(0x[0-9A-Fa-f]+|[0-9]+)")
            set(value "${CMAKE_MATCH_1}")
        endif()
    endforeach()
    set(${out} "${value}" PARENT_SCOPE)
endfunction()

function(mt_embed_sql)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SCHEMA_DIR;OUTPUT" "")
    set(dir "${arg_SCHEMA_DIR}")

    _mt_list_sql(migrations "${dir}/migrations")
    _mt_list_sql(views "${dir}/views")
    _mt_list_sql(statements "${dir}/statements")
    if(EXISTS "${dir}/views.txt")
        _mt_order_sql(views "${dir}/views.txt")
    endif()
    _mt_read_pragma(application_id "${dir}/migrations" application_id ${migrations})
    _mt_read_pragma(user_version "${dir}/migrations" user_version ${migrations})
    math(EXPR major "${user_version} / 10000")
    math(EXPR minor "${user_version} / 100 % 100")
    math(EXPR micro "${user_version} % 100")
    set(version "${major}.${minor}.${micro}")

    set(arrays "")
    _mt_append_sql_array(arrays "${dir}/migrations" kMigrations ${migrations})
    _mt_append_sql_array(arrays "${dir}/views" kViews ${views})
    _mt_append_sql_array(arrays "${dir}/statements" kStatements ${statements})

    set(constants "")
    foreach(name IN LISTS statements)
        string(
            APPEND constants
            "inline constexpr std::string_view ${name} = statement(\"${name}\");\n"
        )
    endforeach()

    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sql.hpp.in" "${arg_OUTPUT}" @ONLY)
endfunction()
