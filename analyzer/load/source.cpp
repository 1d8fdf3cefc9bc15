#include "analyzer/load/source.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "analyzer/error.hpp"
#include "analyzer/load/file_lock.hpp"
#include "analyzer/load/recovery.hpp"
#include "analyzer/load/run_file.hpp"

namespace metatrain_timing::analyzer {
namespace {

namespace fs = std::filesystem;

bool exists(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    for (const fs::directory_iterator end; !error && entry != end;
         entry.increment(error)) {
        entries.push_back(entry->path());
    }
    if (error) {
        throw Error(folder.string() + ": cannot be listed (" + error.message() + ")");
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

// Every file of a recorder's own folder is one of its own, or a reason to wonder.
void add_recorder_folder(const fs::path& folder, RunSource& source) {
    if (!is_folder(folder)) {
        return;
    }
    for (const fs::path& path : sorted_entries(folder)) {
        if (is_file(path) && !is_companion(path.filename().string())) {
            source.files.push_back(path.string());
        }
    }
}

bool looks_like_run_file(const fs::path& path) {
    return path.filename().string().ends_with(".db") ||
           opened_by_this_process(path.string()) || has_our_header(path.string());
}

void add_folder(const fs::path& folder, RunSource& source) {
    for (const fs::path& path : sorted_entries(folder)) {
        const std::string name = path.filename().string();
        if (is_folder(path) && name.ends_with(".d")) {
            add_recorder_folder(path, source);
        } else if (is_file(path) && !is_companion(name)) {
            (looks_like_run_file(path) ? source.files : source.others)
                .push_back(path.string());
        }
    }
}

// What METATRAIN_TIMING_DB may have named for the files of a folder.
std::vector<std::string> run_paths(const std::string& folder, const std::string& base) {
    if (!base.empty()) {
        return {base};
    }
    std::vector<std::string> paths;
    for (const fs::path& path : sorted_entries(folder)) {
        if (is_file(path) && path.extension() == ".db") {
            paths.push_back(path.string());
        }
    }
    return paths;
}

// The folder of a run file's other processes; a link leads to that of the file itself.
std::string recorder_folder(const std::string& file) {
    std::error_code error;
    if (!is_folder(file + ".d") && fs::is_symlink(file, error)) {
        const fs::path target = fs::canonical(file, error);
        if (!error) {
            return target.string() + ".d";
        }
    }
    return file + ".d";
}

std::string without_end_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') {
        path.pop_back();
    }
    return path;
}

// Cuts "@<selector>" off, unless there is a file of the whole name.
std::string take_selector(const std::string& path, RunSource& source) {
    const std::size_t at = path.rfind('@');
    if (exists(path) || at == std::string::npos || at == 0 || at + 1 == path.size()) {
        return path;
    }
    std::string base = path.substr(0, at);
    if (!exists(base) && !is_folder(base + ".d")) {
        return path;
    }
    if (!source.selector.empty()) {
        throw Error(path + ": a run is named twice; give '@...' or --run, not both",
                    ErrorCode::usage);
    }
    source.selector = path.substr(at + 1);
    return base;
}

}  // namespace

RunSource resolve(const std::string& path, const std::string& selector) {
    RunSource source;
    source.selector = selector;
    source.name = without_end_slashes(take_selector(path, source));
    const std::string& name = source.name;
    if (!is_folder(name)) {
        save_records_of_the_killed(name, source.warnings);
        if (exists(name)) {
            source.files.push_back(name);
        } else if (!is_folder(name + ".d")) {
            throw Error(
                name +
                ": no such file: nothing was recorded there, or no loop over a "
                "DataLoader; record with METATRAIN_TIMING_DB=" +
                (name.find(' ') == std::string::npos ? name : "'" + name + "'"));
        }
        add_recorder_folder(recorder_folder(name), source);
        return source;
    }
    const std::string base =
        name.ends_with(".d") ? name.substr(0, name.size() - 2) : "";
    for (const std::string& run_path : run_paths(name, base)) {
        save_records_of_the_killed(run_path, source.warnings);
    }
    if (!base.empty() && is_file(base)) {
        source.files.push_back(base);
        add_recorder_folder(name, source);
    } else {
        add_folder(name, source);
    }
    if (source.files.empty()) {
        throw Error(name + ": no run files in this folder");
    }
    return source;
}

std::vector<std::string> find_run_paths(const std::string& folder) {
    std::set<std::string> paths;
    std::vector<fs::path> folders{folder};
    while (!folders.empty()) {
        const fs::path current = std::move(folders.back());
        folders.pop_back();
        for (const fs::path& path : sorted_entries(current)) {
            const std::string name = path.filename().string();
            std::error_code error;
            if (is_folder(path)) {
                if (name.ends_with(".db.d")) {  // its run file may be gone
                    paths.insert(path.string().substr(0, path.string().size() - 2));
                } else if (!fs::is_symlink(path, error)) {
                    folders.push_back(path);
                }
            } else if (is_file(path) && !is_companion(name) &&
                       looks_like_run_file(path)) {
                paths.insert(path.string());
            }
        }
    }
    return {paths.begin(), paths.end()};
}

}  // namespace metatrain_timing::analyzer
