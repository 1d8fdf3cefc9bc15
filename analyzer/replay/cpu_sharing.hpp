#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/replay/cpus.hpp"
#include "analyzer/replay/work.hpp"

namespace metatrain_timing::analyzer {

/// Activities that share a number of CPUs, in virtual time.
///
/// The model is processor sharing, the fluid limit of a fair scheduler (Kleinrock,
/// "Queueing Systems", volume 2, 1976, section 4.4): as long as the activities ask for
/// no more CPU time than there is, each proceeds as if it were alone; else the CPU
/// parts of all are stretched by one factor, such that they use exactly the CPUs that
/// such a crowd gets. The parts without CPU (sleep, files, other machines) are
/// never stretched.
///
/// Each agent (a thread, more or less) has at most one activity. Time only goes on in
/// finish_next(). Cost: O(agents) a call.
class CpuSharing {
  public:
    CpuSharing(const Cpus& cpus, std::size_t agents);

    double now_ns() const { return now_ns_; }
    bool is_busy(std::size_t agent) const { return agents_[agent].busy; }

    /// Gives an agent, which must have none, an activity.
    void start(std::size_t agent, const Work& work);

    /// Lets time go on until the first activity is done, and tells whose; nothing may
    /// be asked where no agent has one.
    std::size_t finish_next();

    /// How many agents have an activity.
    std::size_t busy_count() const { return busy_count_; }

  private:
    struct Agent {
        bool busy = false;
        double left_ns = 0;       // at full speed
        double cpu_fraction = 0;  // of the time at full speed
        double cpus = 0;          // used at full speed
        double speed = 1;
    };

    double find_stretch() const;
    void set_speeds();

    Cpus cpus_;
    double now_ns_ = 0;
    std::size_t busy_count_ = 0;
    bool speeds_are_set_ = false;
    std::vector<Agent> agents_;
};

}  // namespace metatrain_timing::analyzer
