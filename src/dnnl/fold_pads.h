// FoldPads: borders of zeros become the padding of the windows that read them.
#pragma once

#include <set>

#include "program/step.h"

namespace amp::onednn {

// Removes pads whose readers are convolutions, or averages that count their padding, and gives these their borders.
// Borders on one side only are possible. The sums of some implementations have another order with other padding: this
// is not for mode `exact`. Steps of nodes in `do_not_fuse` stay as they are. For before FusePostOps: what a pad stood
// between may be fused then.
void FoldPads(const std::set<NodeId>& do_not_fuse, Program* program);

}  // namespace amp::onednn
