// Moving views (reshapes, permutations) behind elementwise steps, so that those stand next to the primitive that they
// can be fused with.
#pragma once

#include "program/step_graph.h"

namespace amp {

// Makes one view of two that follow each other, and none of one that changes nothing.
void CollapseReshapes(StepGraph* graph);

// Where the only reader of a view is elementwise: that step then reads what the view reads, and the view follows it.
// Returns whether this was possible.
bool SinkReshape(StepGraph* graph, StepId view);

}  // namespace amp
