// KeepFloat32Sums: gradients that are read in float32 are not rounded before.
#pragma once

#include "nnvm/graph.h"

namespace amp {

// Backward products of low precision whose result is read by casts to float32 alone write float32 themselves
// (kOutDTypeAttr): the gradient of a float32 weight, and that of a float32 tensor that a product reads in low
// precision. Between the product and the casts there may be operators that move data.
//
// Guarantees: forward nodes stay the same objects. The casts stay where they are and have nothing left to do. What else
// reads a product's result keeps it as it was.
Graph KeepFloat32Sums(const Graph& graph);

}  // namespace amp
