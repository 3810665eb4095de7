// Executors with gradients. The GIL is released while they are built and while they run.
#include "runtime/gradient_executor.h"

#include <memory>
#include <optional>
#include <utility>

#include "alternate.h"
#include "bind_options.h"
#include "bindings.h"
#include "convert_options.h"
#include "gil.h"

namespace amp::python {
namespace {

std::unique_ptr<GradientExecutor> BuildGradientExecutor(const Symbol& symbol, const py::dict& variable_types,
                                                        const std::vector<std::string>& differentiated, bool is_train,
                                                        const py::dict& given) {
  const TypeMap types = TypeMapOf(variable_types);
  const auto memory_budget = ValueOf<std::int64_t>(given, "memory_budget");
  const GradientBindOptions options{is_train, memory_budget, BindOptionsOf(given)};
  std::unique_ptr<GradientExecutor> executor;
  ReleaseGil([&] { executor = std::make_unique<GradientExecutor>(symbol, types, differentiated, options); });
  return executor;
}

std::vector<NDArray> VariablesOf(const GradientExecutor& executor, const py::sequence& arrays) {
  std::vector<NDArray> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& names = executor.input_names();
    inputs.push_back(ArrayOf(arrays[i], "'" + (i < names.size() ? names[i] : std::to_string(i)) + "'").array);
  }
  return inputs;
}

py::list Forward(GradientExecutor& executor, const py::sequence& arrays, std::pair<std::int64_t, std::int64_t> key) {
  const std::vector<NDArray> inputs = VariablesOf(executor, arrays);
  std::vector<NDArray> outputs;
  ReleaseGil([&] { outputs = executor.Forward(inputs, {key.first, key.second}); });
  return ListOf(std::move(outputs));
}

// `states` are the arrays that Forward was given for auxiliary states: they are written to. `observer` is None, or is
// called with positions of gradients that are known while others are still computed.
void Backward(GradientExecutor& executor, const py::sequence& head_gradients, const py::sequence& gradients,
              const std::vector<bool>& adds, bool retain, const py::sequence& states, const py::object& observer) {
  std::vector<NDArray> heads;
  for (std::size_t i = 0; i < head_gradients.size(); ++i) {
    const py::object head = head_gradients[i];
    heads.push_back(head.is_none() ? NDArray() : ArrayOf(head, fmt::format("head_gradients[{}]", i)).array);
  }
  std::vector<GradientTarget> targets;
  std::vector<Array> written;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    written.push_back(WritableArrayOf(gradients[i], fmt::format("gradients[{}]", i)));
    targets.push_back({written.back().array, adds.at(i)});
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    written.push_back(WritableArrayOf(states[i], fmt::format("states[{}]", i)));
  }
  const auto tell = [&](std::size_t target) {
    const py::gil_scoped_acquire gil;
    observer(target);
  };
  ReleaseGil([&] { executor.Backward(heads, targets, retain, observer.is_none() ? GradientObserver() : tell); });
  for (const Array& array : written) ++array.writes->count;
}

RunProfile ProfileWithGradients(GradientExecutor& executor, const py::sequence& arrays, int runs) {
  const std::vector<NDArray> inputs = VariablesOf(executor, arrays);
  RunProfile profile;
  ReleaseGil([&] { profile = executor.Profile(inputs, runs); });
  return profile;
}

}  // namespace

void BindGradientExecutor(py::module_& module) {
  py::class_<GradientExecutor>(module, "GradientExecutor", "A symbol bound with gradients; amp.Executor wraps it.")
      .def(py::init(&BuildGradientExecutor), py::arg("symbol"), py::arg("variable_types"), py::arg("differentiated"),
           py::arg("is_train"), py::arg("options"))
      .def("clone", &GradientExecutor::Clone, "Another one of the same plan, with memory of its own.")
      .def("forward", &Forward, py::arg("inputs"), py::arg("random_key"))
      .def("backward", &Backward, py::arg("head_gradients"), py::arg("gradients"), py::arg("adds"), py::arg("retain"),
           py::arg("states"), py::arg("observer") = py::none())
      .def("profile", &ProfileWithGradients, py::arg("inputs"), py::arg("runs"))
      .def("input_names", &GradientExecutor::input_names)
      .def("output_names", &GradientExecutor::output_names)
      .def("gradient_names", &GradientExecutor::gradient_names)
      .def("gradient_replaces", &GradientExecutor::gradient_replaces)
      .def("state_names", &GradientExecutor::state_names)
      .def("input_types", [](const GradientExecutor& self) { return TypeList(self.input_types()); })
      .def("output_types", [](const GradientExecutor& self) { return TypeList(self.output_types()); })
      .def("gradient_types", [](const GradientExecutor& self) { return TypeList(self.gradient_types()); })
      .def("symbol", &GradientExecutor::symbol)
      .def("symbol_as_converted", &GradientExecutor::symbol_as_converted)
      .def("summary", &GradientExecutor::summary)
      .def("flushed_counts", [](GradientExecutor& self) { return FlushedDict(self.TakeFlushedCounts()); })
      .def("alternate_counts", [](GradientExecutor& self) { return CountsDict(self.TakeAlternateCounts()); })
      .def("notice", &GradientExecutor::notice);
}

}  // namespace amp::python
