#pragma once

#include <string>
#include <utility>
#include <vector>

namespace metatrain_timing::detail {

std::string host_name();

/// Facts for the table `environment` that need neither Python nor torch: 'cpu.granted'
/// (CPUs by affinity and control group, what the training can really use),
/// 'cpu.affinity', 'cpu.quota', 'cpu.model', 'host.kernel', 'recorder.version',
/// 'sqlite.version'. What is not known is left out.
std::vector<std::pair<std::string, std::string>> process_facts();

}  // namespace metatrain_timing::detail
