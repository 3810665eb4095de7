// Conversion of models.
#include "dnnl/convert_model.h"

#include <optional>

#include "bindings.h"
#include "gil.h"

namespace amp::python {
namespace {

// The arrays after a conversion; those that it left alone are the caller's own.
py::dict Converted(const py::dict& before, const NDArrayMap& after, const std::map<std::string, DType>& casts) {
  py::dict dict;
  for (const auto& [name, array] : before) {
    const auto key = name.cast<std::string>();
    dict[name] = casts.contains(key) ? Array{after.at(key), true} : ArrayOf(array);
  }
  return dict;
}

py::dict Convert(const Symbol& symbol, const py::dict& args, const py::dict& aux, const py::dict& input_types,
                 py::handle target, bool offline) {
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  const TypeMap types = TypeMapOf(input_types);
  const ConvertOptions options{DTypeOf(target), offline};
  std::optional<onednn::ConvertedModel> model;
  WithoutGil([&] { model = onednn::ConvertModel(symbol, params, types, options); });
  py::dict casts;
  for (const auto& [name, dtype] : model->casts) casts[py::str(name)] = NameOf(dtype);
  py::dict result;
  result["symbol"] = std::move(model->symbol);
  result["arguments"] = Converted(args, model->params.args, model->casts);
  result["auxiliary_states"] = Converted(aux, model->params.aux, model->casts);
  result["num_casts"] = model->num_casts;
  result["casts"] = casts;
  return result;
}

}  // namespace

void BindConvert(py::module_& module) {
  module.def("convert_model", Convert, py::arg("symbol"), py::arg("arguments"), py::arg("auxiliary_states"),
             py::arg("input_types"), py::arg("target_dtype"), py::arg("cast_params_offline"),
             "A dict with symbol, arguments, auxiliary_states, num_casts and casts ({parameter: dtype}).");
}

}  // namespace amp::python
