#pragma once

#include <string_view>

#include "analyzer/model/run.hpp"

namespace metatrain_timing::analyzer {

/// Names of autograd's nodes in torch.profiler's traces begin so.
inline constexpr std::string_view kAutogradNode =
    "autograd::engine::evaluate_function: ";

/// Gives what torch.profiler calls by its own names those that analyses know:
/// "enumerate(DataLoader)#...__next__" is `loader`, with a pass over a loader of that
/// kind, "Optimizer.step#..." `optimizer`, "Optimizer.zero_grad#..." `zero_grad`; from
/// a wait to the next one, or to the end of its "ProfilerStep#n", is the body `step`,
/// and in it from the first to the last of autograd's nodes `backward`. Steps have the
/// numbers of the profiler, else those of the optimizer.
///
/// A body trains in which gradients of parameters are added up or an optimizer steps. A
/// request after one that trains whose body does not found no more batches: the pass
/// ends there; what follows until training goes on evaluates. Where gradients are not
/// on record, bodies are micro-steps as far as a step usually takes as many.
///
/// Tracks are sorted and nest, before and after.
void find_kineto_loops(Run& run);

}  // namespace metatrain_timing::analyzer
