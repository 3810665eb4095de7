// The result of attention on a ring.
#pragma once

#include "dist/comm.h"
#include "dist/ring.h"

namespace amp::dist {

// Writes this rank's rows of the result, and their log-sum-exps, float32 (batch, heads, rows). Keys and values go to
// the next rank W-1 times, the ones of the next step while this step computes. Partial results are kept until the last
// step; a state needs memory for one. Throws ArgumentError, and what the communicator throws.
void RingForward(Comm* comm, const RingAttention& ring, const RingOperands& operands, void* out, float* lse);

}  // namespace amp::dist
