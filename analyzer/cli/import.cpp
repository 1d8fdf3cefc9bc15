#include "analyzer/cli/import.hpp"

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analyzer/import_trace.hpp"
#include "analyzer/load/counted.hpp"

namespace metatrain_timing::analyzer {
namespace {

struct Arguments {
    std::vector<std::string> traces;
    std::string output;
    TraceSource source = TraceSource::chrome;
};

void read_in(const Arguments& arguments, Shell& shell) {
    const ImportAnswer answer =
        import_trace(arguments.traces, arguments.source, arguments.output);
    shell.warn(answer.warnings);
    shell.out << printable(arguments.output, shell.style.utf8) << ": "
              << counted(static_cast<std::int64_t>(answer.interval_count), "interval")
              << " of "
              << counted(static_cast<std::int64_t>(answer.event_count), "event")
              << "; see 'mt-analyze report'\n";
}

}  // namespace

void add_import_command(CLI::App& app, Shell& shell) {
    const auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand(
        "import", "Make a run of a trace that another tool recorded");
    command
        ->add_option(
            "TRACES", arguments->traces,
            "Chrome traces, compressed by gzip or not; several are ranks of one"
            " training")
        ->required()
        ->type_name("");
    command
        ->add_option("-o,--output", arguments->output,
                     "The run file to write; one that exists is not overwritten")
        ->required()
        ->type_name("FILE");
    const std::map<std::string, TraceSource> sources = {
        {"kineto", TraceSource::kineto},
        {"chrome", TraceSource::chrome},
        {"viztracer", TraceSource::viztracer}};
    command
        ->add_option("--from", arguments->source,
                     "Who wrote them: kineto (torch.profiler), viztracer, or chrome for"
                     " any other, 'mt-analyze export' too (default)")
        ->transform(CLI::CheckedTransformer(sources))
        ->type_name("TOOL");
    command->callback([arguments, &shell] { read_in(*arguments, shell); });
}

}  // namespace metatrain_timing::analyzer
