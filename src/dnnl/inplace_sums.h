// ShareSums: primitives that add to their destination.
#pragma once

#include "dnnl/laid_out_program.h"

namespace amp::onednn {

// A primitive that adds to its destination finds there what it adds to: both share one memory from here on. Where the
// operand is needed later, or must not be overwritten, a copy of it is.
LaidOutProgram ShareSums(LaidOutProgram program);

}  // namespace amp::onednn
