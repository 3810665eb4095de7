// AssignLayouts: decides in which memory layout every value lies and makes each change of layout an explicit step.
#pragma once

#include <cstddef>

#include "dnnl/constants.h"
#include "dnnl/laid_out_program.h"
#include "passes/numeric_mode.h"

namespace amp::onednn {

// Sums of products choose their layouts; everything else takes what its producer wrote. Outputs end in row-major memory
// of their own. In mode `fast` a reorder rounds, too, where a cast stands before it. Where the program has a backward
// half, the first outputs are complete before it.
LaidOutProgram AssignLayouts(NumericMode mode, Program program, std::size_t num_forward_outputs,
                             const ConstantStore& store);

}  // namespace amp::onednn
