// Gradients of symbols.
#include "passes/gradient/gradient.h"

#include "bindings.h"

namespace amp::python {
namespace {

GradientOptions OptionsOf(const std::vector<std::optional<Symbol>>& output_gradients, bool is_train) {
  return {is_train, output_gradients};
}

// (outputs, {variable: gradient or None where it is zero everywhere}, {auxiliary state: its value after the step})
py::tuple MakeGraph(const Symbol& symbol, const std::vector<std::string>& variables,
                    const std::vector<std::optional<Symbol>>& output_gradients, bool is_train) {
  const GradientGraph graph = MakeGradientGraph(symbol, variables, OptionsOf(output_gradients, is_train));
  const bool np_shape = symbol.np_shape();
  py::dict gradients, states;
  for (const auto& [name, entry] : graph.gradients) {
    gradients[py::str(name)] = entry ? py::cast(Symbol({*entry}, np_shape)) : py::none();
  }
  for (const auto& [name, entry] : graph.states) states[py::str(name)] = Symbol({entry}, np_shape);
  return py::make_tuple(graph.outputs, gradients, states);
}

}  // namespace

void BindGradient(py::module_& module) {
  module.def(
      "gradient",
      [](const Symbol& symbol, const std::vector<std::string>& variables,
         const std::vector<std::optional<Symbol>>& output_gradients,
         bool is_train) { return Gradient(symbol, variables, OptionsOf(output_gradients, is_train)); },
      py::arg("symbol"), py::arg("variables"), py::arg("output_gradients"), py::arg("is_train"),
      "Outputs of the symbol, then the gradient of each variable.");
  module.def("gradient_graph", &MakeGraph, py::arg("symbol"), py::arg("variables"), py::arg("output_gradients"),
             py::arg("is_train"), "(outputs, {variable: gradient or None}, {auxiliary state: value after the step})");
}

}  // namespace amp::python
