#include "nnvm/phase.h"

#include <algorithm>

namespace amp {

Phase PhaseOfReader(const std::vector<NodeEntry>& inputs) {
  const bool is_backward = std::any_of(inputs.begin(), inputs.end(),
                                       [](const NodeEntry& input) { return input.node->phase() == Phase::kBackward; });
  return is_backward ? Phase::kBackward : Phase::kForward;
}

}  // namespace amp
