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
// those in `taken`, which others hold by now.
LaidOutProgram FoldConstants(LaidOutProgram program, std::vector<std::string> taken, ConstantStore* store);

}  // namespace amp::onednn
