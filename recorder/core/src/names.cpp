#include "recorder/core/src/names.hpp"

#include "recorder/core/src/ring_store.hpp"
#include "recorder/core/src/utf8.hpp"

namespace metatrain_timing::detail {

std::uint16_t Names::intern(std::string_view name) {
    std::string valid = to_utf8(name, kMaxBytes);
    const std::lock_guard lock(mutex_);
    const auto known = numbers_.find(valid);
    if (known != numbers_.end()) {
        return known->second;
    }
    if (names_.size() >= kMaxCount) {
        return 0;
    }
    names_.push_back(std::move(valid));
    const auto number = static_cast<std::uint16_t>(names_.size());
    numbers_.emplace(names_.back(), number);
    if (store_ != nullptr) {
        store_->keep({of_, number, names_.back()});
    }
    return number;
}

const std::string& Names::name(std::uint16_t number) const {
    const std::lock_guard lock(mutex_);
    return names_.at(number - 1U);
}

void Names::keep_in(RingStore* store, NumberedName::Of of) {
    const std::lock_guard lock(mutex_);
    store_ = store;
    of_ = of;
    for (std::size_t index = 0; store != nullptr && index < names_.size(); ++index) {
        store->keep({of, static_cast<std::uint16_t>(index + 1), names_[index]});
    }
}

std::size_t Names::count() const {
    const std::lock_guard lock(mutex_);
    return names_.size();
}

}  // namespace metatrain_timing::detail
