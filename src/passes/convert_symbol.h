// The conversion of a symbol: a symbol in, the converted symbol out.
#pragma once

#include "nnvm/params_file.h"
#include "passes/converted_symbol.h"
#include "passes/infer.h"
#include "passes/precision/convert_options.h"

namespace amp {

class ConversionReport;

// Converts `symbol` to low precision; passes/pipelines.cc has the stages. `input_types` gives the dtype and, if known,
// the shape of every variable that is no parameter (see VariableTypes); parameters have those of their arrays.
// `report`, where given, is filled. Throws ArgumentError for names that the symbol lacks or parameters of unknown
// dtype, GraphError where types clash.
ConvertedSymbol ConvertSymbol(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                              const ConvertOptions& options, ConversionReport* report = nullptr);

}  // namespace amp
