// Loops and branches whose bodies have other forms in training: bodies that draw random numbers or move auxiliary
// states.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "passes/training_form.h"

namespace amp {

// See BodiesForm. A loop hands a random key and the auxiliary states on from step to step, behind its own states.
// Throws UnsupportedError for an auxiliary state that differs from step to step by itself, or that a condition moves.
NodePtr FormBodies(const Node& node, std::vector<NodeEntry> inputs, std::vector<FormedBody> bodies,
                   const std::function<NodeEntry()>& random_key);

// See UpdatesStates.
std::vector<StateUpdate> StatesMovedBy(const Node& node);

}  // namespace amp
