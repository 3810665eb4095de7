#include "passes/open_model.h"

#include <utility>

#include "passes/conversion.h"

namespace amp {

OpenedModel OpenModel(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                      const std::set<std::string>& kept_batch_norms) {
  Conversion c(symbol, params, input_types, {}, nullptr);
  MergeVariables(c);
  UnfuseModel(c);
  InferTypes(c);
  FoldResult folded = FoldBatchNorm(c.model, [&](const Node& node) { return kept_batch_norms.contains(node.name()); });
  c.model.Replace(std::move(folded.rewrite));
  c.model.ReplaceArrays(folded.dropped, folded.arrays);
  return {std::move(c.model), std::move(folded.names)};
}

}  // namespace amp
