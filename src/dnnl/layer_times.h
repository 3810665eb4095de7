// What the layers of plans take, and which kernels are the fastest.
#pragma once

#include <string>
#include <vector>

#include "dnnl/plan.h"
#include "program/tuned_kernels.h"

namespace amp::onednn {

// The layers of one key as one plan computes them, all of them together.
struct LayerTime {
  std::string key, kernel;
  double seconds = 0;
};

// The times of the layers for which there was a choice, in the order of keys. `step_seconds` are those of the plan's
// steps. A reorder counts to the layer that made what it reads and to the one that reads what it makes. A layer that
// another one took with it has no time of its own.
std::vector<LayerTime> LayerTimes(const Plan& plan, const std::vector<double>& step_seconds);

// The fastest kernel for each key: what `predicted` says, unless another one is clearly faster in one of the plans.
TunedKernels FastestKernels(const std::vector<LayerDecision>& predicted,
                            const std::vector<std::vector<LayerTime>>& plans);

}  // namespace amp::onednn
