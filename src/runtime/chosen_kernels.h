// The kernels that a machine file's times choose for a model, on any CPU.
#pragma once

#include <vector>

#include "nnvm/symbol.h"
#include "program/layer_decision.h"
#include "runtime/bind_options.h"

namespace amp {

// The layers of the plan that an executor with these options would have on a CPU of class `options.machine`, as the
// machine file describes it. Nothing is built. Throws what the construction of an executor throws.
std::vector<LayerDecision> ChosenKernels(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                                         const BindOptions& options);

}  // namespace amp
