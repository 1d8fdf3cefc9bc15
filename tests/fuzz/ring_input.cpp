#include "tests/fuzz/ring_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "recorder/core/src/adoption.hpp"
#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/definition_code.hpp"
#include "recorder/core/src/names.hpp"
#include "recorder/core/src/ring.hpp"
#include "recorder/core/src/ring_places.hpp"
#include "recorder/core/src/ring_store.hpp"
#include "tests/fuzz/damage.hpp"
#include "tests/support/in_memory.hpp"
#include "tests/support/query.hpp"
#include "tests/support/run_builder.hpp"
#include "tests/support/temp_folder.hpp"

namespace metatrain_timing::test {
namespace {

namespace fs = std::filesystem;
using detail::RecordKind;

constexpr const char* kUuid = "0123abcd-0000-4000-8000-000000000000";

// A ring file that others may read is nobody's.
void write_private(const fs::path& path, const std::string& bytes) {
    write(path, bytes);
    fs::permissions(path, fs::perms(0600));
}

// The folder of all inputs, with one for ring files in it.
class Place : InMemory {
  public:
    Place() {
        fs::create_directory(rings());
        fs::permissions(rings(), fs::perms(0700));
        setenv("METATRAIN_TIMING_RING_DIR", rings().c_str(), 1);
    }
    fs::path rings() const { return folder_ / "rings"; }
    fs::path database() const { return folder_ / "run.db"; }
    fs::path ring() const { return rings() / detail::ring_name(database(), kUuid); }
    void clear() const {
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            if (entry.path() != rings()) {
                fs::remove_all(entry.path());
            }
        }
        fs::create_directory(rings());  // whoever empties it removes it
        fs::permissions(rings(), fs::perms(0700));
        fs::remove(ring());
    }
    void check_for_strangers() const {
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            const std::string name = entry.path().filename().string();
            require(name == "rings" || name.starts_with("run.db"),
                    "nothing but the run's files is made");
        }
    }

  private:
    TempFolder folder_;
};

const Place& place() {
    static const Place kPlace;
    return kPlace;
}

detail::ProcessRow make_process() {
    detail::ProcessRow process;
    process.run.uuid = "fedc0123-0000-4000-8000-000000000000";
    process.run.job = "job";
    process.run.attempt = 1;
    process.command = "python train.py";
    process.cwd = "/home";
    process.process_uuid = kUuid;
    process.host = "host";
    process.boot_id = "boot";
    process.pid = 7;
    return process;
}

void add(detail::Ring& ring, RecordKind kind, std::int64_t start_ns,
         std::uint64_t payload) {
    detail::Record record;
    record.start_ns = start_ns;
    record.payload = payload;
    record.label.name = 1;
    record.label.kind = kind;
    ring.cell() = record;
    ring.publish();
}

// What a process of two threads, a loader, a pass and a counter left.
std::string make_image() {
    detail::RingStore store(place().database(), make_process());
    require(store.is_a_file(), "there is room for a ring file");
    store.keep({detail::NumberedName::Of::stage, 1, "work"});
    store.keep({detail::NumberedName::Of::counter, 1, "atoms"});
    detail::LoaderState loader;
    loader.number = 1;
    loader.info.name = "train";
    store.keep_pending(detail::encode(loader));
    detail::IteratorState pass;
    pass.number = 1;
    pass.loader = 1;
    store.keep_pending(detail::encode(pass));
    store.keep_pending(detail::encode(std::pair<std::string, std::string>("key", "v")));
    store.keep_pending(detail::encode(detail::Problem{5, "code", "a problem"}));
    for (std::uint64_t number = 1; number <= 2; ++number) {
        detail::ThreadArea* const area = store.make_thread_area();
        require(area != nullptr, "there is room for a thread");
        detail::Ring ring(*area);
        for (std::int64_t record = 0; record < 20; ++record) {
            add(ring, RecordKind::interval, 100 * record, 50);
        }
        add(ring, RecordKind::interval_with_cpu, 3000, 50);
        add(ring, RecordKind::cpu, 3000, 20);
        add(ring, RecordKind::counter, 4000, 0x3FF0'0000'0000'0000U);
        detail::OpenFrame frame;
        frame.start_ns = 5000;
        frame.serial = 9;
        frame.words = label_words({}, 1, 0, RecordKind::interval);
        area->open.push(frame);
        detail::Record dropped;
        dropped.start_ns = 6000;
        dropped.payload = 30;
        dropped.label.name = 1;
        dropped.label.depth = 1;
        dropped.label.context.iterator = 1;
        require(area->drops.add_interval(dropped, 10, area->open), "there is room");
        dropped.label.depth = 0;
        dropped.label.kind = RecordKind::counter;
        dropped.payload = 0x3FF0'0000'0000'0000U;
        require(area->drops.add_counter(dropped), "there is room");
        area->dropped_count.store(2);
        area->tid = 70;
        std::string("thread").copy(area->name.data(), area->name.size() - 1);
        area->track_number.store(number);
    }
    std::string bytes = content(place().ring());
    store.remove();
    return bytes;
}

detail::Adoption adopt() {
    return detail::adopt_dead_rings(
        place().database(), std::chrono::steady_clock::now() + std::chrono::hours(1));
}

struct Image {
    std::string ring;
    std::string database;
};

// The second one: interrupted after the transaction, before it removed the ring file.
std::array<Image, 2> make_images() {
    const std::string ring = make_image();
    // With its tables: to make them takes longer than all else.
    {
        const RunBuilder empty(place().database());
    }
    const Image fresh{ring, content(place().database())};
    place().clear();
    write_private(place().ring(), fresh.ring);
    require(adopt().adopted.size() == 1, "the undamaged file is saved");
    const Image written{fresh.ring, content(place().database())};
    return {fresh, written};
}

// Rows of all databases of the run, which are sound.
std::int64_t count_rows() {
    std::int64_t count = 0;
    for (const auto& entry :
         fs::recursive_directory_iterator(place().database().parent_path())) {
        const fs::path& path = entry.path();
        if (path.extension() == ".db" && entry.is_regular_file()) {
            require(
                query(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"},
                "a database is sound");
            count += number(path,
                            "SELECT (SELECT count(*) FROM interval) + "
                            "(SELECT count(*) FROM counter) + "
                            "(SELECT count(*) FROM open_interval) + "
                            "(SELECT count(*) FROM interval_total) + "
                            "(SELECT count(*) FROM counter_total)");
            require(
                number(path,
                       "SELECT count(*) FROM interval_total WHERE calls < 0"
                       " OR total_ns < 0 OR cpu_ns < 0 OR cpu_wall_ns > total_ns"
                       " OR first_ns > last_ns OR parent_id >= id OR node < 0") == 0,
                "sums are possible");
        }
    }
    return count;
}

const std::array<Image, 2>& images() {
    static const std::array<Image, 2> kImages = make_images();
    return kImages;
}

}  // namespace

unsigned sums_offset() {
    const auto* const header =
        reinterpret_cast<const detail::RingHeader*>(images()[0].ring.data());
    const auto* const area = std::find_if(
        header->areas.begin(), header->areas.end(), [](const detail::AreaEntry& entry) {
            return entry.kind == detail::AreaKind::thread;
        });
    require(area != header->areas.end(), "there is a thread");
    return static_cast<unsigned>(area->offset) + offsetof(detail::ThreadArea, drops);
}

void ring_input(std::span<const std::uint8_t> bytes) {
    const auto& undamaged = images();  // made in the same place, so before all else
    const std::size_t kind = bytes.empty() ? 0 : std::size_t{bytes[0]} % 3;
    const auto rest = bytes.empty() ? bytes : bytes.subspan(1);
    place().clear();
    std::string ring(rest.begin(), rest.end());
    if (kind < undamaged.size()) {
        ring = damaged(undamaged.at(kind).ring, rest);
        write(place().database(), undamaged.at(kind).database);
    }
    write_private(place().ring(), ring);
    const auto adoption = adopt();
    const std::int64_t rows = count_rows();
    if (!adoption.adopted.empty()) {  // as if it had been killed before the removal
        fs::create_directory(place().rings());
        fs::permissions(place().rings(), fs::perms(0700));
        write_private(place().ring(), ring);
        adopt();
        require(count_rows() == rows, "no record is saved twice");
    }
    place().check_for_strangers();
}

}  // namespace metatrain_timing::test
