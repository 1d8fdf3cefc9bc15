#include "recorder/core/src/definition_code.hpp"

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

// The fields of each, the same for both ways.
template <typename Code, typename Row>
void process_fields(Code& code, Row& row) {
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

template <typename Code, typename Name>
void name_fields(Code& code, Name& name) {
    code.field(name.of);
    code.field(name.number);
    code.field(name.name);
}

template <typename Code, typename Loader>
void loader_fields(Code& code, Loader& loader) {
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

template <typename Code, typename Iterator>
void iterator_fields(Code& code, Iterator& iterator) {
    code.field(iterator.number);
    code.field(iterator.loader);
    code.field(iterator.epoch);
    code.field(iterator.phase);
    code.field(iterator.started_ns);
    code.field(iterator.first_wait_ns);
    code.field(iterator.ended_ns);
    code.field(iterator.exhausted);
}

template <typename Code, typename P>
void problem_fields(Code& code, P& problem) {
    code.field(problem.at_ns);
    code.field(problem.code);
    code.field(problem.text);
}

template <typename Row, typename Same>
void add_or_replace(std::vector<Row>& rows, Row row, Same same) {
    for (Row& known : rows) {
        if (same(known, row)) {
            known = std::move(row);
            return;
        }
    }
    rows.push_back(std::move(row));
}

bool is_role(ProcessInfo::Role role) {
    return role == ProcessInfo::Role::main || role == ProcessInfo::Role::worker ||
           role == ProcessInfo::Role::child;
}

bool decode_one(Kind kind, Decoder code, DecodedDefinitions& into) {
    const auto same_number = [](const auto& a, const auto& b) {
        return a.number == b.number;
    };
    switch (kind) {
        case Kind::process: {
            ProcessRow row;
            process_fields(code, row);
            if (!code.ok() || !is_role(row.info.role)) {
                return false;
            }
            into.process = std::move(row);
            return true;
        }
        case Kind::name: {
            NumberedName name;
            name_fields(code, name);
            into.names.push_back(std::move(name));
            return code.ok();
        }
        case Kind::loader: {
            LoaderState loader;
            loader_fields(code, loader);
            if (code.ok()) {
                add_or_replace(into.pending.loaders, std::move(loader), same_number);
            }
            return code.ok();
        }
        case Kind::iterator: {
            IteratorState iterator;
            iterator_fields(code, iterator);
            if (code.ok()) {
                add_or_replace(into.pending.iterators, std::move(iterator),
                               same_number);
            }
            return code.ok();
        }
        case Kind::fact: {
            std::pair<std::string, std::string> fact;
            code.field(fact.first);
            code.field(fact.second);
            if (code.ok()) {
                add_or_replace(
                    into.pending.facts, std::move(fact),
                    [](const auto& a, const auto& b) { return a.first == b.first; });
            }
            return code.ok();
        }
        case Kind::problem: {
            Problem problem;
            problem_fields(code, problem);
            if (code.ok()) {
                into.pending.problems.push_back(std::move(problem));
            }
            return code.ok();
        }
    }
    return false;
}

}  // namespace

std::string encode(const ProcessRow& process) {
    Encoder code(Kind::process);
    process_fields(code, process);
    return code.finish();
}

std::string encode(const NumberedName& name) {
    Encoder code(Kind::name);
    name_fields(code, name);
    return code.finish();
}

std::string encode(const LoaderState& loader) {
    Encoder code(Kind::loader);
    loader_fields(code, loader);
    return code.finish();
}

std::string encode(const IteratorState& iterator) {
    Encoder code(Kind::iterator);
    iterator_fields(code, iterator);
    return code.finish();
}

std::string encode_fact(std::string_view key, std::string_view value) {
    Encoder code(Kind::fact);
    code.field(std::string(key));
    code.field(std::string(value));
    return code.finish();
}

std::string encode(const Problem& problem) {
    Encoder code(Kind::problem);
    problem_fields(code, problem);
    return code.finish();
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
