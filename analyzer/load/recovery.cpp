#include "analyzer/load/recovery.hpp"

#include <fmt/format.h>

#include <metatrain_timing/recorder/recovery.hpp>

#include "analyzer/load/counted.hpp"

namespace metatrain_timing::analyzer {

void save_records_of_the_killed(const std::string& path,
                                std::vector<Warning>& warnings) {
    const Recovery recovery = metatrain_timing::recover(path);
    if (recovery.process_count > 0) {
        warnings.push_back(
            {"records_recovered",
             fmt::format("{}: saved {} that {} had not written when killed", path,
                         counted(recovery.record_count, "record"),
                         counted(recovery.process_count, "process"))});
    }
    if (recovery.left_count > 0) {
        warnings.push_back(
            {"records_not_recovered",
             fmt::format("{}: the last records of {} could not be saved: make its "
                         "folder writable and read it again on this host before that "
                         "is restarted",
                         path, counted(recovery.left_count, "killed process"))});
    }
}

}  // namespace metatrain_timing::analyzer
