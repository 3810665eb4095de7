// The plain float32 form of a model: what errors of low precision are measured against.
#pragma once

#include <set>
#include <string>

#include "passes/infer.h"
#include "passes/model.h"
#include "passes/optimize/fold_batch_norm.h"

namespace amp {

struct OpenedModel {
  Model model;
  FoldedNames batch_norms;
};

// The model as a conversion decides about it: variables of one name are one, fused nodes are opened, and batch norms
// are folded into the layer before them, but for those of `kept_batch_norms`. Casts stay. Outputs keep their order and
// names. Errors are those of ConvertSymbol.
OpenedModel OpenModel(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                      const std::set<std::string>& kept_batch_norms);

}  // namespace amp
