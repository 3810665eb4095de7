#include "program/convert_model.h"

#include <utility>

#include "passes/precision/conversion_report.h"
#include "program/cast_arrays.h"
#include "program/compensated_rounding.h"

namespace amp {

ConvertedModel ConvertModel(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                            const ConvertOptions& options, ConversionReport* report) {
  ConvertedSymbol converted = ConvertSymbol(symbol, params, input_types, options, report);
  ConvertedModel model{std::move(converted.symbol), params,
                       converted.num_casts,         std::move(converted.casts),
                       converted.predicted,         std::move(converted.unknown_names)};
  for (const std::string& name : converted.dropped) {
    model.params.args.erase(name);
    model.params.aux.erase(name);
  }
  if (report != nullptr) model.folded = converted.new_arrays;
  for (auto& [name, array] : converted.new_arrays) {
    const auto low = converted.folded_weights.find(name);
    const bool is_compensated = low != converted.folded_weights.end() && !options.rounded_to_nearest.contains(name);
    model.params.args[name] = is_compensated ? RoundWithCompensation(array, low->second) : std::move(array);
  }
  CastArrays(model.casts, &model.params);
  return model;
}

}  // namespace amp
