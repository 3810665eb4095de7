// Reorders by our own kernel: of bfloat16, where oneDNN's go through float32, which turns denormals into zeros, and
// where oneDNN has no code for the CPU.
#pragma once

#include <optional>

#include "dnnl/memory_desc.h"
#include "dnnl/prepared_primitive.h"
#include "kernels/movement/strided_copy.h"

namespace amp::onednn {

// The copy from one layout to the other; nullopt where one of them is padded, packed or blocked more than once, or
// where elements become others.
std::optional<kernels::StridedCopy> StridedCopyOf(const Desc& from, const Desc& to);

// Whether the reorder, which need not round, may still lose denormals.
bool MovesBFloat16(const PreparedPrimitive& reorder);

// The copy that is run instead of the reorder; nullopt where there is none, or where the reorder is as good.
std::optional<kernels::StridedCopy> BetterCopy(const PreparedPrimitive& reorder);

}  // namespace amp::onednn
