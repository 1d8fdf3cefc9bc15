#pragma once

#include <map>
#include <string>
#include <vector>

/// What questions are read from, as given on the command line or to `run_json()`.
namespace metatrain_timing::analyzer {

/// "2%" or "0.02" as 0.02, of the option named.
/// @throws Error (usage) with one line.
double parse_part(const std::string& option, const std::string& text);

/// Texts between separators; none for an empty text.
std::vector<std::string> split_text(const std::string& text, char separator);

/// The value of an option, empty where it is not given.
std::string option_text(const std::map<std::string, std::string>& options,
                        const std::string& name);

}  // namespace metatrain_timing::analyzer
