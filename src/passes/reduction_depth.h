// How many terms the elements of a result sum up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "nnvm/node.h"
#include "nnvm/shape.h"

namespace amp {

// Fact of an operator that adds up: how many terms an element of output 0 has, of the longest sum where several follow
// each other. All shapes are known. An operator with the fact FoldTarget needs none: its weight tells.
struct ReductionDepth {
  std::function<std::int64_t(const Node&, std::span<const Shape> in, const Shape& out)> of;
};

// The fact of an operator that adds up whole axes of input 0.
ReductionDepth ElementsPerResult();

// Whether the node adds up: its depth can be told where shapes are known.
bool HasReductionDepth(const Node& node);
// nullopt where shapes that the depth depends on are not known. Needs HasReductionDepth.
std::optional<std::int64_t> ReductionDepthOf(const Node& node, std::span<const Shape> in, const Shape& out);

}  // namespace amp
