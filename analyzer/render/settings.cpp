#include "analyzer/render/settings.hpp"

#include <fmt/format.h>

namespace metatrain_timing::analyzer {

Json settings_json(const LoaderSettings& settings) {
    return {{"num_workers", settings.num_workers},
            {"prefetch_factor",
             settings.num_workers > 0 ? Json(settings.prefetch_factor) : Json(nullptr)},
            {"in_order", settings.in_order},
            {"persistent_workers", settings.persistent_workers},
            {"pin_memory", settings.pin_memory}};
}

std::string describe(const LoaderSettings& settings) {
    if (settings.num_workers == 0) {
        return settings.pin_memory ? "num_workers=0, pin_memory=True" : "num_workers=0";
    }
    return fmt::format("num_workers={}, prefetch_factor={}{}{}{}", settings.num_workers,
                       settings.prefetch_factor,
                       settings.in_order ? "" : ", in_order=False",
                       settings.persistent_workers ? ", persistent_workers=True" : "",
                       settings.pin_memory ? ", pin_memory=True" : "");
}

std::string describe_change(const LoaderSettings& to, const LoaderSettings& from) {
    std::string text;
    const auto add = [&](bool changed, const std::string& argument) {
        if (changed) {
            text += (text.empty() ? "" : ", ") + argument;
        }
    };
    const auto boolean = [](bool value) { return value ? "True" : "False"; };
    add(to.num_workers != from.num_workers,
        fmt::format("num_workers={}", to.num_workers));
    if (to.num_workers > 0) {
        add(to.prefetch_factor != from.prefetch_factor,
            fmt::format("prefetch_factor={}", to.prefetch_factor));
        add(to.in_order != from.in_order,
            fmt::format("in_order={}", boolean(to.in_order)));
        add(to.persistent_workers != from.persistent_workers,
            fmt::format("persistent_workers={}", boolean(to.persistent_workers)));
    }
    add(to.pin_memory != from.pin_memory,
        fmt::format("pin_memory={}", boolean(to.pin_memory)));
    return text;
}

}  // namespace metatrain_timing::analyzer
