#include "dnnl/convert_model.h"

#include <utility>

#include "dnnl/cast_arrays.h"

namespace amp::onednn {

ConvertedModel ConvertModel(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                            const ConvertOptions& options) {
  ConvertedSymbol converted = ConvertSymbol(symbol, params, input_types, options);
  ConvertedModel model{std::move(converted.symbol), params, converted.num_casts, std::move(converted.casts)};
  CastArrays(model.casts, &model.params);
  return model;
}

}  // namespace amp::onednn
