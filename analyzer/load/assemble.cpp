#include "analyzer/load/assemble.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace metatrain_timing::analyzer {
namespace {

// A row of a small table: file and position there.
struct RowPlace {
    std::size_t file = 0;
    std::size_t row = 0;
};

// Loaders and passes of one owner, owners in the order of the model; an owner that was
// not recorded comes last, by its uuid.
struct Key {
    std::size_t owner_order = 0;
    std::string owner_uuid;
    std::int64_t number = 0;
    std::int32_t loader = -1;  // of a pass

    bool operator<(const Key& other) const {
        return std::tie(owner_order, owner_uuid, number, loader) <
               std::tie(other.owner_order, other.owner_uuid, other.number,
                        other.loader);
    }
};

constexpr std::size_t kNotRecorded = std::numeric_limits<std::size_t>::max();

class Assembler {
  public:
    Assembler(const RunRow& identity, const std::vector<FileTables>& tables,
              const std::vector<FileTraits>& traits)
        : identity_(identity), tables_(tables), traits_(traits) {
        result_.files.resize(tables.size());
        process_rows_.resize(tables.size());
        loader_ids_.resize(tables.size());
        loader_rows_.resize(tables.size());
    }

    AssembledRun assemble() {
        set_identity();
        add_processes();
        add_loaders();
        add_iterators();
        resolve_phases();
        link_workers();
        for (std::size_t file = 0; file < tables_.size(); ++file) {
            add_details(file);
            add_tracks(file);
            add_cpu_usage(file);
            add_names(tables_[file].stages, result_.run.stages, stage_index_,
                      result_.files[file].stages);
            add_names(tables_[file].counter_names, result_.run.counter_names,
                      counter_index_, result_.files[file].counter_names);
        }
        return std::move(result_);
    }

  private:
    void set_identity() {
        Run& run = result_.run;
        run.uuid = identity_.uuid;
        run.job = identity_.job;
        run.attempt = identity_.attempt.value_or(1);
        run.started_unix_ns = identity_.started_unix_ns;
        run.command = identity_.command;
        run.cwd = identity_.cwd;
        run.host = identity_.host;
    }

    bool is_of_run(std::size_t file, std::int64_t run_id) const {
        const auto& runs = tables_[file].runs;
        return std::any_of(runs.begin(), runs.end(), [&](const RunRow& row) {
            return row.id == run_id && row.uuid == identity_.uuid;
        });
    }

    const ProcessRow& row_at(const RowPlace& place) const {
        return tables_[place.file].processes[place.row];
    }

    // Of two records of one process life: that of its end, else of the file that is
    // being written, else the one with more in it.
    bool is_fuller(const RowPlace& a, const RowPlace& b) const {
        const auto rank = [&](const RowPlace& place) {
            return std::pair(row_at(place).process.ended_ns.has_value(),
                             traits_[place.file].live);
        };
        if (rank(a) != rank(b)) {
            return rank(a) > rank(b);
        }
        return traits_[a.file].interval_count(row_at(a).id) >
               traits_[b.file].interval_count(row_at(b).id);
    }

    void add_processes() {
        std::map<std::string, RowPlace> places;
        for (std::size_t file = 0; file < tables_.size(); ++file) {
            for (std::size_t i = 0; i < tables_[file].processes.size(); ++i) {
                const ProcessRow& row = tables_[file].processes[i];
                process_rows_[file].insert(row.id, static_cast<std::int32_t>(i));
                result_.files[file].processes.insert(row.id, IdMap::kUnwanted);
                if (!is_of_run(file, row.run_id)) {
                    continue;
                }
                const RowPlace place{file, i};
                const auto [entry, is_new] =
                    places.try_emplace(row.process.uuid, place);
                if (!is_new && is_fuller(place, entry->second)) {
                    entry->second = place;
                }
            }
        }
        std::vector<RowPlace> sorted;
        for (const auto& [uuid, place] : places) {
            sorted.push_back(place);
        }
        const auto order = [&](const RowPlace& place) {
            const Process& process = row_at(place).process;
            const int role = process.role == Role::main    ? 0
                             : process.role == Role::child ? 1
                                                           : 2;
            return std::tuple(role, process.rank, process.started_ns,
                              process.worker_id.value_or(-1),
                              std::string_view(process.uuid));
        };
        std::sort(
            sorted.begin(), sorted.end(),
            [&](const RowPlace& a, const RowPlace& b) { return order(a) < order(b); });
        for (const RowPlace& place : sorted) {
            const std::size_t index = result_.run.processes.size();
            Process& process =
                result_.run.processes.emplace_back(row_at(place).process);
            if (process.ending != "clean" && process.ending != "killed") {
                process.ending = "unknown";
            }
            process_index_[row_at(place).process.uuid] = index;
            result_.files[place.file].processes.insert(
                row_at(place).id, static_cast<std::int32_t>(index));
            places_.push_back(place);
        }
        mark_live_processes();
    }

    // A slot file is owned by one life at a time: the last one that has not ended.
    void mark_live_processes() {
        std::map<std::size_t, std::size_t> newest;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const RowPlace& place = places_[i];
            if (traits_[place.file].live && !row_at(place).process.ended_ns) {
                const auto [entry, is_new] = newest.try_emplace(place.file, i);
                if (!is_new && row_at(places_[entry->second]).id < row_at(place).id) {
                    entry->second = i;
                }
            }
        }
        for (const auto& [file, process] : newest) {
            result_.run.processes[process].alive = true;
        }
    }

    struct Owner {
        Key key;  // without number and loader
        bool is_copy = false;
    };

    // Who made the loader of this row; nothing where the row is of another run.
    std::optional<Owner> owner_of(std::size_t file, const LoaderRow& row) {
        const std::int32_t at = process_rows_[file].find(row.process_id);
        if (at < 0) {
            ++result_.files[file].skipped_rows;
            return std::nullopt;
        }
        const ProcessRow& writer =
            tables_[file].processes[static_cast<std::size_t>(at)];
        if (!is_of_run(file, writer.run_id)) {
            return std::nullopt;
        }
        Owner owner;
        owner.is_copy = writer.process.role == Role::worker &&
                        !writer.process.parent_uuid.empty() &&
                        writer.loader_id.value_or(row.id) == row.id;
        const std::string& uuid =
            owner.is_copy ? writer.process.parent_uuid : writer.process.uuid;
        const auto known = process_index_.find(uuid);
        owner.key.owner_order =
            known == process_index_.end() ? kNotRecorded : known->second;
        owner.key.owner_uuid = uuid;
        return owner;
    }

    void add_loaders() {
        struct Found {
            RowPlace place;
            bool is_copy = false;
            std::vector<RowPlace> rows;
        };
        std::map<Key, Found> found;
        for (std::size_t file = 0; file < tables_.size(); ++file) {
            for (std::size_t i = 0; i < tables_[file].loaders.size(); ++i) {
                const LoaderRow& row = tables_[file].loaders[i];
                loader_rows_[file].insert(row.id, static_cast<std::int32_t>(i));
                loader_ids_[file].insert(row.id, IdMap::kUnwanted);
                const std::optional<Owner> owner = owner_of(file, row);
                if (!owner) {
                    continue;
                }
                Key key = owner->key;
                key.number = row.loader.number;
                const auto [entry, is_new] =
                    found.try_emplace(key, Found{{file, i}, owner->is_copy, {}});
                if (!is_new && entry->second.is_copy && !owner->is_copy) {
                    entry->second.place = {file, i};
                    entry->second.is_copy = false;
                }
                entry->second.rows.push_back({file, i});
            }
        }
        for (const auto& [key, entry] : found) {
            const auto index = static_cast<std::int32_t>(result_.run.loaders.size());
            Loader loader = tables_[entry.place.file].loaders[entry.place.row].loader;
            loader.process = key.owner_order == kNotRecorded
                                 ? -1
                                 : static_cast<std::int32_t>(key.owner_order);
            result_.loader_writers.push_back(
                loader.process >= 0 ? loader.process : any_writer(entry.rows));
            result_.run.loaders.push_back(std::move(loader));
            for (const RowPlace& place : entry.rows) {
                loader_ids_[place.file].insert(
                    tables_[place.file].loaders[place.row].id, index);
            }
        }
    }

    // A process of the model that wrote one of the rows.
    std::int32_t any_writer(const std::vector<RowPlace>& rows) const {
        for (const RowPlace& place : rows) {
            const std::int32_t process = result_.files[place.file].processes.find(
                tables_[place.file].loaders[place.row].process_id);
            if (process >= 0) {
                return process;
            }
        }
        return -1;
    }

    void add_iterators() {
        struct Found {
            RowPlace place;
            bool is_copy = false;
            std::vector<RowPlace> rows;
        };
        std::map<Key, Found> found;
        for (std::size_t file = 0; file < tables_.size(); ++file) {
            for (std::size_t i = 0; i < tables_[file].iterators.size(); ++i) {
                const IteratorRow& row = tables_[file].iterators[i];
                IdMap& ids = result_.files[file].iterators;
                ids.insert(row.id, IdMap::kUnwanted);
                const std::int32_t loader = loader_ids_[file].find(row.loader_id);
                if (loader < 0) {
                    result_.files[file].skipped_rows +=
                        loader == IdMap::kMissing ? 1 : 0;
                    continue;
                }
                const auto at = loader_rows_[file].find(row.loader_id);
                const bool is_copy =
                    owner_of(file, tables_[file].loaders[static_cast<std::size_t>(at)])
                        ->is_copy;
                const std::int32_t process =
                    result_.run.loaders[static_cast<std::size_t>(loader)].process;
                Key key;
                key.owner_order =
                    process < 0 ? kNotRecorded : static_cast<std::size_t>(process);
                key.number = row.iterator.number;
                key.loader = loader;
                const auto [entry, is_new] =
                    found.try_emplace(key, Found{{file, i}, is_copy, {}});
                if (!is_new && entry->second.is_copy && !is_copy) {
                    entry->second.place = {file, i};
                    entry->second.is_copy = false;
                }
                entry->second.rows.push_back({file, i});
            }
        }
        for (const auto& [key, entry] : found) {
            const auto index = static_cast<std::int32_t>(result_.run.iterators.size());
            const IteratorRow& row =
                tables_[entry.place.file].iterators[entry.place.row];
            Iterator iterator = row.iterator;
            iterator.loader = key.loader;
            result_.stored_phases.push_back(
                row.has_phase ? std::optional(iterator.phase) : std::nullopt);
            if (!row.has_phase) {
                iterator.phase = entry.is_copy ? "unknown" : "unused";
            }
            result_.run.iterators.push_back(std::move(iterator));
            for (const RowPlace& place : entry.rows) {
                result_.files[place.file].iterators.insert(
                    tables_[place.file].iterators[place.row].id, index);
            }
        }
    }

    // As the view `_iterator` does: evaluation before the first training pass of the
    // same process fits baselines or scales.
    void resolve_phases() {
        Run& run = result_.run;
        std::map<std::int32_t, std::int64_t> first_training;
        const auto owner = [&](const Iterator& iterator) {
            return run.loaders[static_cast<std::size_t>(iterator.loader)].process;
        };
        for (const Iterator& iterator : run.iterators) {
            if (iterator.phase == "train" && iterator.first_wait_ns) {
                const auto [entry, is_new] = first_training.try_emplace(
                    owner(iterator), *iterator.first_wait_ns);
                entry->second = std::min(entry->second, *iterator.first_wait_ns);
            }
        }
        for (Iterator& iterator : run.iterators) {
            const auto first = first_training.find(owner(iterator));
            if (iterator.phase == "evaluation" && iterator.first_wait_ns &&
                first != first_training.end() &&
                *iterator.first_wait_ns < first->second) {
                iterator.phase = "before-training";
            }
        }
    }

    void link_workers() {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const std::optional<std::int64_t> loader_id = row_at(places_[i]).loader_id;
            if (loader_id) {
                result_.run.processes[i].loader =
                    std::max(-1, loader_ids_[places_[i].file].find(*loader_id));
            }
        }
    }

    Process* process_of(std::size_t file, std::int64_t process_id) {
        const std::int32_t index = result_.files[file].processes.find(process_id);
        if (index == IdMap::kMissing) {
            ++result_.files[file].skipped_rows;
        }
        return index < 0 ? nullptr
                         : &result_.run.processes[static_cast<std::size_t>(index)];
    }

    void add_details(std::size_t file) {
        for (const ClockRow& row : tables_[file].first_clocks) {
            if (Process* process = process_of(file, row.process_id)) {
                std::int64_t offset = 0;
                if (!__builtin_sub_overflow(row.unix_ns, row.monotonic_ns, &offset)) {
                    process->clock_offset_ns = offset;
                }
            }
        }
        for (const FactRow& row : tables_[file].environment) {
            if (Process* process = process_of(file, row.process_id)) {
                process->environment.emplace_back(row.key, row.value);
            }
        }
        for (const HealthRow& row : tables_[file].health) {
            if (Process* process = process_of(file, row.process_id)) {
                process->health.push_back(row.warning);
            }
        }
    }

    void add_tracks(std::size_t file) {
        FileIds& ids = result_.files[file];
        for (const TrackRow& row : tables_[file].tracks) {
            const std::int32_t index =
                result_.files[file].processes.find(row.process_id);
            if (index < 0) {
                ids.skipped_rows += index == IdMap::kMissing ? 1 : 0;
                ids.tracks.insert(row.id, IdMap::kUnwanted);
                continue;
            }
            const auto process = static_cast<std::size_t>(index);
            auto& tracks = result_.run.processes[process].tracks;
            ids.tracks.insert(row.id,
                              static_cast<std::int32_t>(ids.track_targets.size()));
            ids.track_targets.push_back({process, tracks.size()});
            Track& track = tracks.emplace_back();
            track.tid = row.tid;
            track.name = row.name;
            track.kind = row.kind == "cuda" ? "cuda" : "cpu";
        }
    }

    // Differences of such readings are numbers, too.
    static bool is_possible(const CpuReading& reading) {
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
        const auto is_in = [](std::int64_t value, std::int64_t least) {
            return value >= least && value <= kMost;
        };
        return is_in(reading.at_ns, 0) && is_in(reading.cpu_ns, 0) &&
               is_in(reading.queued_ns, -1);
    }

    void add_cpu_usage(std::size_t file) {
        FileIds& ids = result_.files[file];
        for (const CpuUsageRow& row : tables_[file].cpu_usage) {
            if (!is_possible(row.reading)) {
                ++ids.skipped_rows;
                continue;
            }
            Process* process = process_of(file, row.process_id);
            if (process != nullptr && !row.track_id) {
                process->cpu_usage.push_back(row.reading);
            } else if (process != nullptr) {
                const std::int32_t index = ids.tracks.find(*row.track_id);
                if (index < 0) {
                    ids.skipped_rows += index == IdMap::kMissing ? 1 : 0;
                    continue;
                }
                const auto& [owner, track] =
                    ids.track_targets[static_cast<std::size_t>(index)];
                result_.run.processes[owner].tracks[track].cpu_usage.push_back(
                    row.reading);
            }
        }
    }

    // The model numbers names in 16 bits; names beyond are as if their row was missing.
    static void add_names(const std::vector<NameRow>& rows,
                          std::vector<std::string>& names,
                          std::unordered_map<std::string, std::int32_t>& index,
                          IdMap& ids) {
        constexpr std::size_t kMostNames = 65535;
        for (const NameRow& row : rows) {
            auto entry = index.find(row.name);
            if (entry == index.end()) {
                if (names.size() >= kMostNames) {
                    continue;
                }
                entry = index.emplace(row.name, static_cast<std::int32_t>(names.size()))
                            .first;
                names.push_back(row.name);
            }
            ids.insert(row.id, entry->second);
        }
    }

    const RunRow& identity_;
    const std::vector<FileTables>& tables_;
    const std::vector<FileTraits>& traits_;
    AssembledRun result_;
    std::vector<IdMap> process_rows_;  // per file: process.id to its row
    std::vector<IdMap> loader_ids_;    // per file: loader.id to the model
    std::vector<IdMap> loader_rows_;   // per file: loader.id to its row
    std::vector<RowPlace> places_;     // per process of the model: its row
    std::unordered_map<std::string, std::size_t> process_index_;  // by uuid
    std::unordered_map<std::string, std::int32_t> stage_index_;
    std::unordered_map<std::string, std::int32_t> counter_index_;
};

}  // namespace

AssembledRun assemble(const RunRow& identity, const std::vector<FileTables>& tables,
                      const std::vector<FileTraits>& traits) {
    return Assembler(identity, tables, traits).assemble();
}

}  // namespace metatrain_timing::analyzer
