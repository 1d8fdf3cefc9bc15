#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recorder/core/src/definitions.hpp"
#include "recorder/core/src/process_row.hpp"

namespace metatrain_timing::detail {

/// A stage's or counter's name and the number that records have it by.
struct NumberedName {
    enum class Of : std::uint8_t { stage, counter };
    Of of = Of::stage;
    std::uint16_t number = 0;
    std::string name;
};

/// Definitions as bytes, one after the other, for a reader who finds them after the
/// writer was killed. Each begins with its kind and size.
std::string encode(const ProcessRow& process);
std::string encode(const NumberedName& name);
std::string encode(const LoaderState& loader);
std::string encode(const IteratorState& iterator);
std::string encode(const std::pair<std::string, std::string>& fact);
std::string encode(const Problem& problem);

/// What was decoded, in the order of the bytes; of what was said twice the later.
struct DecodedDefinitions {
    std::optional<ProcessRow> process;
    std::vector<NumberedName> names;
    PendingDefinitions pending;
    bool damaged = false;  // the rest of the bytes made no sense
};

/// Adds what `bytes` hold. Never throws but for lack of memory, whatever they hold.
void decode(std::span<const std::byte> bytes, DecodedDefinitions& into);

}  // namespace metatrain_timing::detail
