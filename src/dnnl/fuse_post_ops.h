// FusePostOps: what follows a primitive and can be done to its result before that is written.
#pragma once

#include <set>

#include "passes/numeric_mode.h"
#include "program/step.h"

namespace amp::onednn {

// Makes post-ops of elementwise steps that are the only readers of what a primitive writes, where oneDNN does both
// without falling back to slow code. Never across an output of the program. In mode `exact` only what rounds nothing
// differently: relu and clipping with bounds that the dtype has. Steps of nodes in `do_not_fuse` stay as they are.
void FusePostOps(NumericMode mode, const std::set<NodeId>& do_not_fuse, Program* program);

}  // namespace amp::onednn
