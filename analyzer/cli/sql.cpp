#include "analyzer/cli/sql.hpp"

#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>

#include "analyzer/load/query.hpp"
#include "analyzer/render/query_report.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    RunArguments run;
    std::string query;
    Format format = Format::text;
};

std::string query_text(const std::string& argument) {
    if (argument != "-") {
        return argument;
    }
    return {std::istreambuf_iterator<char>(std::cin), {}};
}

void query(const Arguments& arguments, Shell& shell) {
    const QueryResult result =
        run_query(arguments.run.path, arguments.run.run, query_text(arguments.query));
    shell.warn(result.warnings);
    switch (arguments.format) {
        case Format::json:
            shell.out << to_text(query_json(result));
            break;
        case Format::csv:
            shell.out << query_table(result, "").csv();
            break;
        case Format::tsv:
            shell.out << query_table(result, "").tsv();
            break;
        case Format::markdown:
            shell.out << query_table(result, "NULL").markdown();
            break;
        case Format::text: {
            // all columns that were asked for, however wide
            TextStyle style = shell.style;
            style.width = std::numeric_limits<std::size_t>::max();
            shell.out << query_table(result, "NULL").text(style);
            break;
        }
    }
}

}  // namespace

void add_sql_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "sql",
        "Answer an SQL query over all files of a run, without changing them.\n"
        "Beside SQLite's functions there are median(x) and percentile(x, p).");
    add_run_arguments(*command, arguments->run);
    command->get_option("--run")->description(
        "Which run: its index as 'mt-analyze runs' shows it, the beginning of its uuid,"
        " or 'all' (default: the newest)");
    command
        ->add_option(
            "query", arguments->query,
            "The query, such as 'SELECT * FROM v_stage_summary'; '-' reads it from"
            " standard input")
        ->required();
    add_format_option(
        *command, arguments->format,
        {Format::text, Format::json, Format::csv, Format::markdown, Format::tsv});
    command->callback([arguments, &shell] { query(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
