#pragma once

namespace metatrain_timing::analyzer {

/// The CPUs that a program may use.
struct Cpus {
    double count = 1;  // a quota may be a fraction
    /// What is lost while more is asked for than there is, as a scheduler does not move
    /// threads at once to where a CPU is free: of `demand` CPUs that are asked for,
    /// count * (1 - lost_part * count / demand) are used. The more threads wait, the
    /// less stands idle.
    double lost_part = 0;

    double used_of(double demand) const {
        return demand <= count ? count : count * (1 - lost_part * count / demand);
    }
};

}  // namespace metatrain_timing::analyzer
