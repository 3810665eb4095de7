// The gradient of attention on a ring.
#pragma once

#include "dist/comm.h"
#include "dist/ring.h"

namespace amp::dist {

struct RingGradients {
  void* queries = nullptr;
  void* keys = nullptr;
  void* values = nullptr;
};

// Gradients of RingForward's results; a null one of lse is zeros.
struct RingOutputGradients {
  const void* out = nullptr;
  const float* lse = nullptr;
};

// Writes the gradients, from those of the results and from what RingForward gave. Steps run in reverse: keys and values
// go to the rank before, and so do the sums of their gradients, in the dtype `accum`; each rank adds to its own last.
// W-1 times a rank sends keys and values, and W-1 times the sums.
void RingBackward(Comm* comm, const RingAttention& ring, const RingOperands& operands, const void* out,
                  const float* lse, const RingOutputGradients& output_gradients, const RingGradients& gradients);

}  // namespace amp::dist
