#include "recorder/core/src/definition_code.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

namespace metatrain_timing::detail {
namespace {

enum class Kind : std::uint32_t {
    process = 1,
    name = 2,
    loader = 3,
    iterator = 4,
    fact = 5,
    problem = 6,
};

struct Prefix {
    std::uint32_t kind;
    std::uint32_t size_bytes;  // of what follows
};

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Encoder {
  public:
    explicit Encoder(Kind kind) { plain(Prefix{static_cast<std::uint32_t>(kind), 0}); }

    template <Plain T>
    void field(const T& value) {
        plain(value);
    }
    void field(const std::string& text) {
        plain(static_cast<std::uint32_t>(text.size()));
        bytes_ += text;
    }
    template <typename T>
    void field(const std::optional<T>& value) {
        field(value.has_value());
        if (value) {
            field(*value);
        }
    }

    std::string finish() {
        const auto size = static_cast<std::uint32_t>(bytes_.size() - sizeof(Prefix));
        std::memcpy(bytes_.data() + offsetof(Prefix, size_bytes), &size, sizeof size);
        return std::move(bytes_);
    }

  private:
    template <typename T>
    void plain(const T& value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    std::string bytes_;
};

class Decoder {
  public:
    explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <Plain T>
    void field(T& value) {
        if (const std::byte* from = take(sizeof value)) {
            std::memcpy(&value, from, sizeof value);
        }
    }
    // Any byte may stand where one of two was written.
    void field(bool& value) {
        std::uint8_t byte = 0;
        field(byte);
        value = byte != 0;
    }
    void field(std::string& text) {
        std::uint32_t size = 0;
        field(size);
        if (const std::byte* from = take(size)) {
            text.assign(reinterpret_cast<const char*>(from), size);
        }
    }
    template <typename T>
    void field(std::optional<T>& value) {
        bool has_value = false;
        field(has_value);
        if (has_value) {
            field(value.emplace());
        }
    }

    bool ok() const { return ok_; }
    std::size_t left() const { return bytes_.size(); }
    std::span<const std::byte> rest() const { return bytes_; }

    const std::byte* take(std::size_t size) {
        if (!ok_ || size > bytes_.size()) {
            ok_ = false;
            return nullptr;
        }
        const std::byte* const from = bytes_.data();
        bytes_ = bytes_.subspan(size);
        return from;
    }

  private:
    std::span<const std::byte> bytes_;
    bool ok_ = true;
};

// For reading and for writing: `Of`, or a const one.
template <typename T, typename Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

using Fact = std::pair<std::string, std::string>;

// The fields of each, the same for both ways.
void fields(auto& code, Is<ProcessRow> auto& row) {
    code.field(row.run.uuid);
    code.field(row.run.job);
    code.field(row.run.attempt);
    code.field(row.run.started_unix_ns);
    code.field(row.run.rank.rank);
    code.field(row.run.rank.local_rank);
    code.field(row.run.rank.world_size);
    code.field(row.command);
    code.field(row.cwd);
    code.field(row.process_uuid);
    code.field(row.parent_uuid);
    code.field(row.info.role);
    code.field(row.info.worker_id);
    code.field(row.info.loader);
    code.field(row.info.start_method);
    code.field(row.info.started_ns);
    code.field(row.host);
    code.field(row.boot_id);
    code.field(row.pid);
}

void fields(auto& code, Is<NumberedName> auto& name) {
    code.field(name.of);
    code.field(name.number);
    code.field(name.name);
}

void fields(auto& code, Is<LoaderState> auto& loader) {
    code.field(loader.number);
    code.field(loader.info.name);
    code.field(loader.info.created_at);
    code.field(loader.info.dataset_class);
    code.field(loader.info.num_workers);
    code.field(loader.info.batch_size);
    code.field(loader.info.prefetch_factor);
    code.field(loader.info.persistent_workers);
    code.field(loader.info.pin_memory);
    code.field(loader.info.in_order);
    code.field(loader.info.start_method);
    code.field(loader.info.sampler_class);
}

void fields(auto& code, Is<IteratorState> auto& iterator) {
    code.field(iterator.number);
    code.field(iterator.loader);
    code.field(iterator.epoch);
    code.field(iterator.phase);
    code.field(iterator.started_ns);
    code.field(iterator.first_wait_ns);
    code.field(iterator.ended_ns);
    code.field(iterator.exhausted);
}

void fields(auto& code, Is<Fact> auto& fact) {
    code.field(fact.first);
    code.field(fact.second);
}

void fields(auto& code, Is<Problem> auto& problem) {
    code.field(problem.at_ns);
    code.field(problem.code);
    code.field(problem.text);
}

template <typename T>
std::string encoded(Kind kind, const T& definition) {
    Encoder code(kind);
    fields(code, definition);
    return code.finish();
}

template <typename T>
std::optional<T> decoded(Decoder code) {
    T definition;
    fields(code, definition);
    return code.ok() ? std::optional(std::move(definition)) : std::nullopt;
}

std::int64_t key_of(const LoaderState& loader) {
    return loader.number;
}

std::int64_t key_of(const IteratorState& iterator) {
    return iterator.number;
}

const std::string& key_of(const Fact& fact) {
    return fact.first;
}

template <typename T>
bool add_or_replace(std::vector<T>& known, std::optional<T> definition) {
    if (!definition) {
        return false;
    }
    const auto same = std::find_if(known.begin(), known.end(), [&](const T& one) {
        return key_of(one) == key_of(*definition);
    });
    if (same == known.end()) {
        known.push_back(std::move(*definition));
    } else {
        *same = std::move(*definition);
    }
    return true;
}

template <typename T>
bool add(std::vector<T>& known, std::optional<T> definition) {
    if (definition) {
        known.push_back(std::move(*definition));
    }
    return definition.has_value();
}

bool is_role(ProcessInfo::Role role) {
    return role == ProcessInfo::Role::main || role == ProcessInfo::Role::worker ||
           role == ProcessInfo::Role::child;
}

bool set_process(std::optional<ProcessRow> process, DecodedDefinitions& into) {
    if (!process || !is_role(process->info.role)) {
        return false;
    }
    into.process = std::move(process);
    return true;
}

bool decode_one(Kind kind, Decoder code, DecodedDefinitions& into) {
    PendingDefinitions& pending = into.pending;
    switch (kind) {
        case Kind::process:
            return set_process(decoded<ProcessRow>(code), into);
        case Kind::name:
            return add(into.names, decoded<NumberedName>(code));
        case Kind::loader:
            return add_or_replace(pending.loaders, decoded<LoaderState>(code));
        case Kind::iterator:
            return add_or_replace(pending.iterators, decoded<IteratorState>(code));
        case Kind::fact:
            return add_or_replace(pending.facts, decoded<Fact>(code));
        case Kind::problem:
            return add(pending.problems, decoded<Problem>(code));
    }
    return false;
}

}  // namespace

std::string encode(const ProcessRow& process) {
    return encoded(Kind::process, process);
}

std::string encode(const NumberedName& name) {
    return encoded(Kind::name, name);
}

std::string encode(const LoaderState& loader) {
    return encoded(Kind::loader, loader);
}

std::string encode(const IteratorState& iterator) {
    return encoded(Kind::iterator, iterator);
}

std::string encode(const std::pair<std::string, std::string>& fact) {
    return encoded(Kind::fact, fact);
}

std::string encode(const Problem& problem) {
    return encoded(Kind::problem, problem);
}

void decode(std::span<const std::byte> bytes, DecodedDefinitions& into) {
    Decoder code(bytes);
    while (code.left() > 0) {
        Prefix prefix{};
        code.field(prefix.kind);
        code.field(prefix.size_bytes);
        const std::byte* const from = code.take(prefix.size_bytes);
        if (from == nullptr || !decode_one(static_cast<Kind>(prefix.kind),
                                           Decoder({from, prefix.size_bytes}), into)) {
            into.damaged = true;
            return;
        }
    }
}

}  // namespace metatrain_timing::detail
