// Tensors of other shapes over the same memory.
#pragma once

#include "dnnl/memory_desc.h"

namespace amp::onednn {

// The layout nearest to `from` whose memory, unchanged, also is that of the reshaped tensor: `from` itself where
// possible, else one in which the axes that a change of shape splits or merges lie side by side. Row-major where `from`
// is blocked or part of something larger.
Desc LayoutToReshape(const Desc& from, const TensorType& reshaped);

// How the reshaped tensor lies in that memory. `from` is a result of LayoutToReshape.
Desc ReshapedLayout(const Desc& from, const TensorType& reshaped);

}  // namespace amp::onednn
