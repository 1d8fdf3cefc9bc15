#pragma once

namespace metatrain_timing::analyzer {

/// What something takes when it has the CPUs it can use for itself.
struct Work {
    double wall_ns = 0;
    double cpu_ns = 0;  // more than wall_ns where several threads share it

    Work& operator+=(const Work& other) {
        wall_ns += other.wall_ns;
        cpu_ns += other.cpu_ns;
        return *this;
    }
    friend Work operator+(Work a, const Work& b) { return a += b; }
};

/// Whether several threads share it: it uses clearly more than one CPU.
inline bool is_shared(const Work& work) {
    return work.cpu_ns > 1.1 * work.wall_ns;
}

/// Work that needs a CPU all the time.
inline Work computing(double ns) {
    return {ns, ns};
}

/// Time that goes by without a CPU.
inline Work waiting(double ns) {
    return {ns, 0};
}

}  // namespace metatrain_timing::analyzer
