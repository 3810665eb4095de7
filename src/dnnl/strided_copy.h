// Reorders of bfloat16 by our own kernel: oneDNN's go through float32, which turns denormals into zeros.
#pragma once

#include <optional>

#include "dnnl/memory_desc.h"
#include "dnnl/prepared_primitive.h"
#include "kernels/strided_copy.h"

namespace amp::onednn {

// The copy from one layout to the other; nullopt where one of them is padded, packed or blocked more than once, or
// where elements are not bfloat16 on both sides.
std::optional<kernels::StridedCopy> StridedCopyOf(const Desc& from, const Desc& to);

// Whether the reorder, which need not round, may still lose denormals.
bool MovesBFloat16(const PreparedPrimitive& reorder);

}  // namespace amp::onednn
