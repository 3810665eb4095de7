// Conversion of models.
#include "program/convert_model.h"

#include <algorithm>
#include <optional>

#include "bindings.h"
#include "convert_options.h"
#include "gil.h"
#include "passes/precision/conversion_report.h"

namespace amp::python {
namespace {

// The arrays after a conversion; those that it left alone are the caller's own.
py::dict Converted(const py::dict& before, const NDArrayMap& given, const NDArrayMap& after) {
  py::dict dict;
  for (const auto& [key, array] : before) {
    const auto found = after.find(key.cast<std::string>());
    if (found == after.end()) continue;  // folded into another
    const bool is_same = given.at(found->first).data() == found->second.data();
    dict[key] = is_same ? ArrayOf(array) : Array{found->second, true};
  }
  for (const auto& [name, array] : after) {
    if (!given.contains(name)) dict[py::str(name)] = Array{array, true};
  }
  return dict;
}

py::dict CastsOf(const std::map<std::string, DType>& casts) {
  py::dict dict;
  for (const auto& [name, dtype] : casts) dict[py::str(name)] = NameOf(dtype);
  return dict;
}

py::object ReportOf(const ConversionReport& report) {
  return report.json().empty() ? py::object(py::none()) : py::object(py::str(report.json()));
}

py::dict ConvertModel(const Symbol& symbol, const py::dict& args, const py::dict& aux, const py::dict& input_types,
                      const py::dict& options_given) {
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  const TypeMap types = TypeMapOf(input_types);
  bool wants_report = false;
  const ConvertOptions options = ConvertOptionsOf(options_given, &wants_report);
  std::optional<ConvertedModel> model;
  ConversionReport report;
  ReleaseGil([&] { model = ConvertModel(symbol, params, types, options, wants_report ? &report : nullptr); });
  py::dict result;
  result["symbol"] = std::move(model->symbol);
  result["arguments"] = Converted(args, params.args, model->params.args);
  result["auxiliary_states"] = Converted(aux, params.aux, model->params.aux);
  result["num_casts"] = model->num_casts;
  result["casts"] = CastsOf(model->casts);
  result["report"] = ReportOf(report);
  result["unknown_names"] = model->unknown_names;
  result["folded"] = Converted({}, {}, model->folded);
  return result;
}

py::dict ConvertSymbolAlone(const Symbol& symbol, const py::dict& input_types, const py::dict& parameter_dtypes,
                            const py::dict& options_given) {
  const TypeMap types = TypeMapOf(input_types);
  bool wants_report = false;
  ConvertOptions options = ConvertOptionsOf(options_given, &wants_report);
  options.parameter_dtypes = DTypeMapOf(parameter_dtypes);
  std::optional<ConvertedSymbol> converted;
  ConversionReport report;
  ReleaseGil([&] { converted = ConvertSymbol(symbol, {}, types, options, wants_report ? &report : nullptr); });
  py::dict result;
  result["symbol"] = std::move(converted->symbol);
  result["num_casts"] = converted->num_casts;
  result["casts"] = CastsOf(converted->casts);
  result["report"] = ReportOf(report);
  result["unknown_names"] = converted->unknown_names;
  return result;
}

// MXNet's lists, by operator name in alphabetical order.
py::dict Lists(py::handle target) {
  const PublishedLists& lists = MXNetLists(DTypeOf(target));
  std::map<ListRole, std::vector<std::string>> names;
  for (const auto& [op, role] : lists.roles) names[role].push_back(op->name);
  py::dict result;
  const std::pair<const char*, ListRole> keys[] = {{"target", ListRole::kTarget},
                                                   {"neutral", ListRole::kNeutral},
                                                   {"fp32", ListRole::kFloat32},
                                                   {"widest", ListRole::kWidest}};
  for (const auto& [key, role] : keys) {
    std::sort(names[role].begin(), names[role].end());
    result[key] = names[role];
  }
  py::list conditional;
  for (const ConditionalOp& entry : lists.conditional) {
    conditional.append(py::make_tuple(entry.op, entry.attr, entry.values));
  }
  result["conditional"] = conditional;
  result["loss_outputs"] = lists.loss_outputs;
  result["use_fp32_params"] =
      lists.float32_inputs.empty() ? py::object(py::none()) : py::object(py::cast(lists.float32_inputs));
  return result;
}

}  // namespace

void BindConvert(py::module_& module) {
  module.def("convert_model", ConvertModel, py::arg("symbol"), py::arg("arguments"), py::arg("auxiliary_states"),
             py::arg("input_types"), py::arg("options"));
  module.def("convert_symbol", ConvertSymbolAlone, py::arg("symbol"), py::arg("input_types"),
             py::arg("parameter_dtypes"), py::arg("options"));
  module.def("published_lists", Lists, py::arg("target_dtype"));
}

}  // namespace amp::python
