// Operators on arrays: what amp.nd, amp.mxnet.np and amp.mxnet.npx call.
#include <memory>
#include <utility>

#include "bindings.h"
#include "dnnl/operator_runner.h"
#include "gil.h"

namespace amp::python {
namespace {

py::list Run(OperatorRunner& runner, const std::string& op, const AttrMap& attrs, const py::sequence& positional,
             const py::dict& by_name) {
  std::vector<NDArray> arrays;
  for (std::size_t i = 0; i < py::len(positional); ++i) {
    arrays.push_back(ArrayOf(positional[i], fmt::format("{}: input {}", op, i)).array);
  }
  const NDArrayMap named = ArrayMapOf(by_name, op + ": input");
  std::vector<NDArray> outputs;
  ReleaseGil([&] { outputs = runner.Run(op, attrs, arrays, named); });
  py::list list;
  for (NDArray& output : outputs) list.append(Array{std::move(output), true});
  return list;
}

}  // namespace

void BindOperators(py::module_& module) {
  py::class_<OperatorRunner>(module, "OperatorRunner", "Runs operators on arrays, and keeps the most recent plans.")
      .def(py::init<std::size_t>(), py::arg("plans_kept"))
      .def("run", &Run, py::arg("op"), py::arg("attributes"), py::arg("positional"), py::arg("by_name"));
}

}  // namespace amp::python
