// Memories of one shape, walked together.
#pragma once

#include <optional>
#include <vector>

#include "dnnl/memory_desc.h"
#include "kernels/elementwise/map.h"

namespace amp::onednn {

// The axes along which the elements of all layouts can be walked, in the order in which the first has them in memory:
// outermost first. Where a layout has a size of 1 and the first has not, its stride is 0. An axis that lies in blocks
// becomes two. nullopt where one of them is packed or blocked more than once, or has blocks of another size, and where
// one is padded: but for those behind the first, which are only read, with one block that is not full.
std::optional<std::vector<kernels::MapAxis>> WalkTogether(const std::vector<Desc>& layouts);

}  // namespace amp::onednn
