#include "program/convert_model.h"

#include <utility>

#include "passes/precision/conversion_report.h"
#include "program/cast_arrays.h"
#include "program/compensated_rounding.h"

namespace amp {
namespace {

// In float32 unless it is cast now.
NDArray Rounded(const NDArray& weight, const FoldedWeight& how, bool is_cast) {
  const NDArray low = RoundWithCompensation(weight, how);
  return is_cast ? low : CastArray(low, weight.dtype());
}

}  // namespace

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
    const NDArray folded = std::exchange(array, NDArray());  // which is given back before the next one is rounded
    const auto low = converted.folded_weights.find(name);
    const bool is_compensated = low != converted.folded_weights.end() && !options.rounded_to_nearest.contains(name);
    model.params.args[name] = is_compensated ? Rounded(folded, low->second, model.casts.contains(name)) : folded;
  }
  CastArrays(model.casts, &model.params);
  return model;
}

}  // namespace amp
