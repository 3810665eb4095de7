#pragma once

#include <string>

#include "passes/optimize/fold_notes.h"

namespace amp {

// Folds a norm into the product before it; the obstacle against that.
std::string FoldIntoProducer(const Model& model, NodeId norm, FoldNotes* notes);

}  // namespace amp
