// Offline conversion of a model, parameters included.
#pragma once

#include "passes/convert_symbol.h"

namespace amp {

struct ConvertedModel {
  Symbol symbol;
  ModelParams params;
  std::size_t num_casts = 0;                 // amp_cast nodes in the result
  std::map<std::string, DType> casts;        // parameters cast offline
  std::optional<Prediction> predicted = {};  // see Decision
  std::vector<std::string> unknown_names = {};
  // Parameters with batch norms in them, before they were rounded; where a report is wanted.
  std::map<std::string, NDArray> folded = {};
};

// ConvertSymbol, and the parameters as it says: folded, and cast offline where that was asked for. The arguments are
// not modified. Arrays that did not change are shared.
ConvertedModel ConvertModel(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                            const ConvertOptions& options, ConversionReport* report = nullptr);

}  // namespace amp
