// Parameter files.
#include "nnvm/params_file.h"

#include <optional>

#include "bindings.h"
#include "gil.h"

namespace amp::python {
namespace {

py::object ArrayOrNone(const NDArray& array) { return array.defined() ? py::cast(Array{array, true}) : py::none(); }

py::list Load(const std::string& path) {
  NamedArrays arrays;
  ReleaseGil([&] { arrays = LoadParams(path); });
  py::list list;
  for (const auto& [name, array] : arrays) {
    list.append(py::make_tuple(TextOf(name, path + ": an array's name"), ArrayOrNone(array)));
  }
  return list;
}

std::optional<ParamsFormat> FormatOf(const std::optional<std::string>& name) {
  return name ? std::optional(ParamsFormatFromName(*name)) : std::nullopt;
}

void Save(const std::string& path, const std::vector<std::pair<std::string, py::object>>& named,
          const std::optional<std::string>& format) {
  const auto chosen = FormatOf(format);
  NamedArrays arrays;
  for (const auto& [name, array] : named) {
    arrays.emplace_back(name, ArrayOf(array, "the array '" + Quotable(name) + "'").array);
  }
  ReleaseGil([&] { SaveParams(path, arrays, chosen); });
}

py::tuple LoadModel(const std::string& path, const Symbol& symbol) {
  ModelParams params;
  ReleaseGil([&] { params = SplitParamsOf(symbol, LoadParams(path), path); });
  return py::make_tuple(DictOf(params.args), DictOf(params.aux));
}

void SaveModel(const std::string& path, const py::dict& args, const py::dict& aux,
               const std::optional<std::string>& format) {
  const auto chosen = FormatOf(format);
  const ModelParams params{ArrayMapOf(args, "argument"), ArrayMapOf(aux, "auxiliary state")};
  ReleaseGil([&] { SaveParams(path, JoinParams(params), chosen); });
}

}  // namespace

void BindParams(py::module_& module) {
  module.def("load_params", Load, py::arg("path"),
             "[(name, NDArray or None)]; names are empty in a file without names.");
  module.def("save_params", Save, py::arg("path"), py::arg("arrays"), py::arg("format"));
  module.def("load_model_params", LoadModel, py::arg("path"), py::arg("symbol"),
             "(arguments, auxiliary states), two dicts.");
  module.def("save_model_params", SaveModel, py::arg("path"), py::arg("arguments"), py::arg("auxiliary_states"),
             py::arg("format"));
}

}  // namespace amp::python
