// FuseGates: a tensor times a function of itself (swish, hard swish, mish) as one elementwise function.
#pragma once

#include "dnnl/step_graph.h"

namespace amp::onednn {

void FuseGates(StepGraph* graph);

}  // namespace amp::onednn
