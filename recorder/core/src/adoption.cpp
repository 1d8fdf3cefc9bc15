#include "recorder/core/src/adoption.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "recorder/core/src/clock.hpp"
#include "recorder/core/src/descriptors.hpp"
#include "recorder/core/src/lock_file.hpp"
#include "recorder/core/src/names.hpp"
#include "recorder/core/src/platform.hpp"
#include "recorder/core/src/ring_image.hpp"
#include "recorder/core/src/ring_places.hpp"
#include "recorder/core/src/run_file.hpp"
#include "recorder/core/src/slot.hpp"

namespace metatrain_timing::detail {
namespace {

namespace fs = std::filesystem;

/// From now on the records of a ring are in this database: an adoption that is
/// interrupted goes on there.
bool note_database(const LockFile& ring, const fs::path& path) noexcept {
    const std::string& text = path.native();
    const auto size = static_cast<std::uint32_t>(text.size());
    return text.size() <= RingHeader::kMaxPath &&
           pwrite(ring.descriptor(), text.data(), text.size(),
                  offsetof(RingHeader, path)) == static_cast<ssize_t>(text.size()) &&
           pwrite(ring.descriptor(), &size, sizeof size,
                  offsetof(RingHeader, path_size)) == sizeof size;
}

/// Whether a process that records for `database` may write to `path`. The bytes of a
/// ring file are not to be trusted with more.
bool may_hold_records_of(const fs::path& database, const fs::path& path) {
    std::error_code error;
    const auto canonical = [&error](const fs::path& any) {
        return fs::weakly_canonical(fs::absolute(any), error);
    };
    const fs::path folder = database.string() + ".d";
    const bool may = canonical(path) == canonical(database) ||
                     canonical(path.parent_path()) == canonical(folder);
    return may && !error;
}

/// A thread of the dead process, as the drain would have seen it.
struct DeadThread {
    explicit DeadThread(ThreadArea& area) : ring(area), open(area.open) {
        harvest.ring = &ring;
        harvest.open = &open;
        harvest.from = ring.tail();
        harvest.to = ring.head();
        harvest.track.number = area.track_number.load();
        harvest.track.tid = area.tid;
        harvest.track.name.assign(area.name.begin(),
                                  std::find(area.name.begin(), area.name.end(), '\0'));
        harvest.finished = true;
        harvest.dropped = area.drops.read();
    }

    Ring ring;
    const OpenStack& open;
    Harvest harvest;
};

// The names by number; what a damaged file lacks is made up.
void intern_names(const RingImage& image, Names& stages, Names& counters) {
    for (const NumberedName& name : image.names()) {
        Names& names = name.of == NumberedName::Of::counter ? counters : stages;
        if (names.count() + 1U == name.number) {
            names.intern(name.name);
        }
    }
}

void complete_names(const Harvest& harvest, Names& stages, Names& counters) {
    const auto complete = [](Names& names, std::uint16_t number) {
        while (names.count() < number) {
            const std::size_t before = names.count();
            names.intern("unknown name " + std::to_string(before + 1));
            if (names.count() == before) {
                return;
            }
        }
    };
    for (std::uint64_t position = harvest.from; position != harvest.to; ++position) {
        const Record& record = harvest.ring->at(position);
        complete(record.label.kind == RecordKind::counter ? counters : stages,
                 record.label.name);
    }
    for (const DroppedSums::Interval& node : harvest.dropped->intervals) {
        complete(stages, node.stage);
    }
    for (const DroppedSums::Counter& node : harvest.dropped->counters) {
        complete(counters, node.counter);
    }
    for (std::uint32_t depth = 0; depth < OpenStack::kMaxDepth; ++depth) {
        if (const auto frame = harvest.open->peek(depth)) {
            complete(stages, frame->label().name);
        }
    }
}

// So many that their sum fits, whatever the bytes are.
std::int64_t possible_count(std::int64_t count) {
    return std::clamp<std::int64_t>(count, 0, std::int64_t{1} << 48U);
}

class Adopter {
  public:
    Adopter(const fs::path& database, const AdoptionOptions& options)
        : database_(database), held_(options.held), ender_uuid_(options.ender_uuid) {}

    enum class Outcome {
        done,       // nothing of the ring is needed any more
        of_others,  // whoever has its database sees to it
        left,       // it cannot be read or written now
    };

    /// Throws SQLite::Exception, and FileRefused, where it cannot be written now.
    Outcome adopt(const LockFile& ring, std::vector<Adopted>& adopted) {
        const auto image = RingImage::read(ring.descriptor());
        if (!image) {
            return RingImage::is_unfinished(ring.descriptor()) ? Outcome::done
                                                               : Outcome::left;
        }
        const fs::path known = image->database();
        const bool is_held = !held_.empty();
        if (is_held && known != held_) {
            return Outcome::of_others;
        }
        if (!known.empty() && !may_hold_records_of(database_, known)) {
            return Outcome::left;
        }
        std::error_code error;
        if (!known.empty() && !fs::exists(known, error)) {
            if (is_held) {
                return Outcome::of_others;
            }
            // Nobody wants a run back that was deleted.
            return error ? Outcome::left : Outcome::done;
        }
        Names stages;
        Names counters;
        intern_names(*image, stages, counters);
        OwnedFile owned =
            known.empty()
                ? open_own_file(database_, image->process(), stages, counters)
                : open_known_file(known, image->process(), stages, counters, is_held);
        if (!owned.file) {
            return Outcome::of_others;
        }
        if (!note_database(ring, owned.file->path())) {
            return Outcome::left;
        }
        Adopted one;
        one.database = owned.file->path();
        one.record_count = write(*owned.file, *image, stages, counters);
        owned.file->make_self_contained();
        owned.file.reset();
        if (owned.lock) {
            owned.lock->remove();
        }
        adopted.push_back(std::move(one));
        return Outcome::done;
    }

  private:
    std::int64_t write(RunFile& file, const RingImage& image, Names& stages,
                       Names& counters) const {
        file.begin();
        if (file.has_ended()) {
            file.roll_back();
            return 0;
        }
        file.write(image.pending());
        if (image.process().boot_id == platform::boot_id()) {
            file.write(read_clocks());
        }
        DropCounts dropped;
        for (ThreadArea* const area : image.threads()) {
            const DeadThread thread(*area);
            complete_names(thread.harvest, stages, counters);
            file.write(thread.harvest);
            file.write_open(thread.harvest);
            dropped.dropped += possible_count(area->dropped_count.load());
            dropped.unsummed += possible_count(area->unsummed_count.load());
        }
        file.write_dropped(dropped);
        if (!ender_uuid_.empty() && image.process().parent_uuid == ender_uuid_) {
            file.write_ended(monotonic_ns());
        } else if (const auto ended_ns = image.ended_ns()) {
            file.write_ended(*ended_ns);
        } else {
            file.write_killed();
        }
        file.commit();
        return file.written_count();
    }

    const fs::path& database_;
    const fs::path& held_;
    const std::string& ender_uuid_;
};

// Without its lock: while that is taken, who saves the records of its run would take
// its process for a living one.
bool is_of_a_deleted_run(const fs::path& ring) {
    const int descriptor =
        LockFile::is_held(ring) ? -1 : open_above_streams(ring.c_str(), O_RDONLY, 0);
    if (descriptor < 0) {
        return false;
    }
    const bool is_ready = !RingImage::is_unfinished(descriptor);
    const fs::path run = RingImage::run_path(descriptor);
    close(descriptor);
    std::error_code error;
    return is_ready && run.is_absolute() && !fs::exists(run, error) &&
           !fs::exists(run.parent_path(), error) && !error;
}

}  // namespace

Adoption adopt_dead_rings(const fs::path& database,
                          std::chrono::steady_clock::time_point deadline,
                          const AdoptionOptions& options) {
    Adoption result;
    try {
        Adopter adopter(database, options);
        for (const fs::path& path : find_rings(database)) {
            // The lock of a process that lives is taken.
            auto ring = LockFile::open(path, O_RDWR).second;
            if (!ring) {
                continue;
            }
            if (std::chrono::steady_clock::now() > deadline) {
                ++result.left_count;
                break;
            }
            try {
                switch (adopter.adopt(*ring, result.adopted)) {
                    case Adopter::Outcome::done:
                        ring->remove();
                        rmdir(path.parent_path().c_str());  // if that was all in it
                        break;
                    case Adopter::Outcome::of_others:
                        break;
                    case Adopter::Outcome::left:
                        ++result.left_count;
                        break;
                }
            } catch (const std::exception&) {
                // locked, full or unwritable: it stays where it is, for later
                ++result.left_count;
            }
        }
    } catch (...) {
        // out of memory
    }
    return result;
}

void remove_orphaned_rings(const fs::path& database) noexcept {
    try {
        for (const fs::path& path : find_other_rings(database)) {
            if (!is_of_a_deleted_run(path)) {
                continue;
            }
            if (auto ring = LockFile::open(path, O_RDWR).second) {
                ring->remove();
            }
        }
    } catch (...) {
        // out of memory
    }
}

}  // namespace metatrain_timing::detail
