// RevertUnprofitableCasts: a model that was converted somewhere runs as this machine gains from it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "nnvm/params_file.h"
#include "nnvm/symbol.h"
#include "passes/precision/cost.h"

namespace amp {

struct RevertedModel {
  Symbol symbol;
  ModelParams params;
  // Operator nodes that read or write low precision, before and after.
  std::size_t low_before = 0, low_after = 0;
};

// Whether casts or marked parameters say that parts of the model are in low precision.
bool IsConverted(const Symbol& symbol);

// Takes the casts of a converted model back where low precision costs time on `machine`, by a minimum cut. What was in
// float32 stays so, nodes in `kept` stay as they are, and so do the dtypes of outputs. `differentiated`: the model is
// trained, and times are those of forward and backward. Parameters keep their (rounded) values. A model with nothing to
// gain, with no casts, with gradients in its graph or with unknown shapes comes back unchanged. Only for mode fast:
// what is not stored in low precision is not rounded.
RevertedModel RevertUnprofitableCasts(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                                      const std::shared_ptr<const Machine>& machine, const std::set<std::string>& kept,
                                      const std::optional<std::set<std::string>>& differentiated = {});

}  // namespace amp
