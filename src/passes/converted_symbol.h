// What a conversion gives.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nnvm/ndarray.h"
#include "nnvm/symbol.h"
#include "passes/optimize/fold_batch_norm.h"
#include "passes/precision/decision.h"

namespace amp {

struct ConvertedSymbol {
  Symbol symbol;
  std::size_t num_casts = 0;                           // amp_cast nodes in the result
  std::map<std::string, DType> casts;                  // parameters to be cast, where offline casts were asked for
  std::map<std::string, NDArray> new_arrays;           // parameters with values of their own, by folding; before casts
  std::set<std::string> dropped;                       // parameters that nothing reads any more
  std::map<std::string, FoldedWeight> folded_weights;  // of new_arrays
  std::optional<Prediction> predicted;                 // see Decision
  std::vector<std::string> unknown_names;              // see ConvertOptions::ignore_unknown_names
};

}  // namespace amp
