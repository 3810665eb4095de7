// The phase of nodes that are made from what they read.
#pragma once

#include <vector>

#include "nnvm/node.h"

namespace amp {

// What descends from the backward phase is of it.
Phase PhaseOfReader(const std::vector<NodeEntry>& inputs);

}  // namespace amp
