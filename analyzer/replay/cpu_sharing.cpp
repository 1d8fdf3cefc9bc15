#include "analyzer/replay/cpu_sharing.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace metatrain_timing::analyzer {

CpuSharing::CpuSharing(const Cpus& cpus, std::size_t agents)
    : cpus_(cpus), agents_(agents) {
}

void CpuSharing::start(std::size_t agent, const Work& work) {
    assert(!agents_[agent].busy);
    Agent& one = agents_[agent];
    one.busy = true;
    one.left_ns = std::max(work.wall_ns, 0.0);
    one.cpus = work.wall_ns > 0 ? work.cpu_ns / work.wall_ns : 0;
    one.cpu_fraction = std::min(one.cpus, 1.0);
    ++busy_count_;
    speeds_are_set_ = false;
}

std::size_t CpuSharing::finish_next() {
    assert(busy_count_ > 0);
    set_speeds();
    std::size_t first = 0;
    double first_ns = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < agents_.size(); ++i) {
        if (agents_[i].busy && agents_[i].left_ns / agents_[i].speed < first_ns) {
            first = i;
            first_ns = agents_[i].left_ns / agents_[i].speed;
        }
    }
    now_ns_ += first_ns;
    for (Agent& agent : agents_) {
        agent.left_ns = std::max(0.0, agent.left_ns - first_ns * agent.speed);
    }
    agents_[first].busy = false;
    --busy_count_;
    speeds_are_set_ = false;
    return first;
}

// By Newton's method: the CPUs used are a convex and falling function of the stretch,
// so that it climbs to the root from 1 without passing it.
double CpuSharing::find_stretch() const {
    double stretch = 1;
    double capacity = cpus_.count;
    for (int round = 0; round < 50; ++round) {
        double excess = -capacity;
        double slope = 0;
        for (const Agent& agent : agents_) {
            if (agent.busy) {
                const double time =
                    1 - agent.cpu_fraction + agent.cpu_fraction * stretch;
                excess += agent.cpus / time;
                slope -= agent.cpus * agent.cpu_fraction / (time * time);
            }
        }
        if (excess <= 1e-9 * capacity || slope == 0) {
            break;
        }
        if (round == 0) {
            const double demand = excess + capacity;
            capacity = cpus_.used_of(demand);
            excess = demand - capacity;
        }
        stretch -= excess / slope;
    }
    return stretch;
}

// An activity that uses the CPU a fraction f of its time at full speed proceeds at
// 1 / (1 - f + f s) when its CPU parts are stretched by s.
void CpuSharing::set_speeds() {
    if (speeds_are_set_) {
        return;
    }
    const double stretch = find_stretch();
    for (Agent& agent : agents_) {
        agent.speed = 1 / (1 - agent.cpu_fraction + agent.cpu_fraction * stretch);
    }
    speeds_are_set_ = true;
}

}  // namespace metatrain_timing::analyzer
