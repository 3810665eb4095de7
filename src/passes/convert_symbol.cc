#include "passes/convert_symbol.h"

#include <utility>

#include "passes/conversion.h"
#include "passes/pipelines.h"
#include "passes/precision/precision_categories.h"

namespace amp {

ConvertedSymbol ConvertSymbol(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                              const ConvertOptions& options, ConversionReport* report) {
  Conversion c(symbol, params, input_types, options, report);
  RunConversion(c);
  c.result.symbol = IsOff(options) ? symbol : Symbol(c.model.graph().outputs(), symbol.np_shape());
  return std::move(c.result);
}

}  // namespace amp
