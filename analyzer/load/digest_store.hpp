#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/load/database.hpp"
#include "analyzer/model/run_digest.hpp"

namespace metatrain_timing::analyzer {

/// Where `mt-analyze history` keeps what it read of runs: METATRAIN_TIMING_CACHE, else
/// metatrain-timing/history.db in XDG_CACHE_HOME or ~/.cache. Empty where none of these
/// is set.
std::string digest_store_path();

/// What was read of a phase of the runs in one file.
struct StoredDigests {
    std::string stamp;  // of the files when they were read
    std::vector<RunDigest> digests;
};

/// Digests of runs by the file they are in, kept from one command to the next. It is a
/// cache: where it cannot be read or written runs are read again.
/// Any thread may use it.
class DigestStore {
  public:
    /// Makes the file and its folder; an empty path keeps nothing.
    explicit DigestStore(const std::string& path);

    /// False: a place was given, and it cannot be used.
    bool works();

    StoredDigests find(const std::string& path, const std::string& phase);
    void keep(const std::string& path, const std::string& phase,
              const StoredDigests& stored);

  private:
    const bool is_wanted_;
    std::mutex mutex_;
    std::unique_ptr<Database> database_;  // nothing: unusable
};

}  // namespace metatrain_timing::analyzer
