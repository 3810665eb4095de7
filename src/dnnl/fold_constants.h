// FoldConstants: what does not depend on inputs is computed once.
#pragma once

#include <string>
#include <vector>

#include "dnnl/constants.h"
#include "dnnl/laid_out_program.h"

namespace amp::onednn {

// Runs every step that reads constants only, or nothing, and keeps its results in the store (packed weights, cast
// parameters). What depends on the shapes of inputs as well is kept by the plan alone (anchors of a detector).
// Constants that no remaining step reads are removed from the store, the caller's original arrays among them; so are
// those in `taken`, which others hold by now. `keeps_bf16`: but not constants in bfloat16 from which others were
// computed. Plans for other shapes may compute in bfloat16 what this one computes in float32, or the other way round.
LaidOutProgram FoldConstants(LaidOutProgram program, std::vector<std::string> taken, bool keeps_bf16,
                             ConstantStore* store);

}  // namespace amp::onednn
