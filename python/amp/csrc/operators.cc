// Operators on arrays: what amp.nd, amp.mxnet.np and amp.mxnet.npx call, and what autograd records.
#include <memory>
#include <utility>

#include "bindings.h"
#include "gil.h"
#include "runtime/operator_runner.h"
#include "runtime/recorder.h"

namespace amp::python {
namespace {

struct Arguments {
  OperatorCall call;
  std::vector<NDArray> arrays;  // by position, then by the names of the call
};

Arguments ArgumentsOf(const std::string& op, const AttrMap& attrs, const py::sequence& positional,
                      const py::dict& by_name) {
  Arguments arguments{{op, attrs, py::len(positional), {}}, {}};
  for (std::size_t i = 0; i < py::len(positional); ++i) {
    arguments.arrays.push_back(ArrayOf(positional[i], fmt::format("{}: input {}", op, i)).array);
  }
  for (auto& [name, array] : ArrayMapOf(by_name, op + ": input")) {
    arguments.call.names.push_back(name);
    arguments.arrays.push_back(array);
  }
  return arguments;
}

py::list RunOperator(OperatorRunner& runner, const std::string& op, const AttrMap& attrs,
                     const py::sequence& positional, const py::dict& by_name) {
  const Arguments arguments = ArgumentsOf(op, attrs, positional, by_name);
  std::vector<NDArray> outputs;
  ReleaseGil([&] { outputs = runner.Run(arguments.call, arguments.arrays); });
  return ListOf(std::move(outputs));
}

using Key = std::pair<std::int64_t, std::int64_t>;

std::shared_ptr<RecordedRun> RecordOperator(Recorder& recorder, const std::string& op, const AttrMap& attrs,
                                            const py::sequence& positional, const py::dict& by_name,
                                            const std::vector<bool>& is_asked, bool is_train, const Key& key) {
  Arguments arguments = ArgumentsOf(op, attrs, positional, by_name);
  std::shared_ptr<RecordedRun> run;
  ReleaseGil([&] {
    run = recorder.Run(arguments.call, std::move(arguments.arrays), is_asked, is_train, {key.first, key.second});
  });
  return run;
}

std::vector<NDArray> ArraysOf(const py::sequence& objects, const std::string& what) {
  std::vector<NDArray> arrays;
  for (std::size_t i = 0; i < py::len(objects); ++i) {
    const py::object object = objects[i];
    arrays.push_back(object.is_none() ? NDArray() : ArrayOf(object, fmt::format("{} {}", what, i)).array);
  }
  return arrays;
}

std::shared_ptr<RecordedRun> RecordGraph(Recorder& recorder, std::shared_ptr<DifferentiableGraph> graph,
                                         const py::sequence& inputs, const Key& key) {
  std::vector<NDArray> arrays = ArraysOf(inputs, "input");
  std::shared_ptr<RecordedRun> run;
  ReleaseGil([&] {
    run = std::make_shared<RecordedRun>(recorder.runner(), std::move(graph), std::move(arrays),
                                        RandomKey{key.first, key.second});
  });
  return run;
}

// ([gradient or None by input], {input: new value of a state}, [whether the gradient replaces, by input])
py::tuple RunBackward(const RecordedRun& run, const py::sequence& heads, const std::vector<bool>& is_asked) {
  const std::vector<NDArray> arrays = ArraysOf(heads, "the gradient of output");
  RecordedRun::Result result;
  ReleaseGil([&] { result = run.Backward(arrays, is_asked); });
  py::list gradients;
  for (auto& gradient : result.gradients) {
    gradients.append(gradient ? py::cast(Array{std::move(*gradient), true}) : py::none());
  }
  py::dict states;
  for (auto& [input, value] : result.states) states[py::int_(input)] = Array{std::move(value), true};
  return py::make_tuple(gradients, states, result.replaces);
}

// ([output of the run that is the gradient, or None, by input], run or None)
py::tuple Derive(const RecordedRun& run, const py::sequence& heads, const std::vector<bool>& is_asked,
                 const std::vector<bool>& differentiable) {
  const std::vector<NDArray> arrays = ArraysOf(heads, "the gradient of output");
  RecordedRun::Derivative derivative;
  ReleaseGil([&] { derivative = run.Derive(arrays, is_asked, differentiable); });
  return py::make_tuple(derivative.gradients, derivative.run);
}

}  // namespace

void BindOperators(py::module_& module) {
  py::class_<OperatorRunner>(module, "OperatorRunner", "Runs operators on arrays, and keeps the most recent plans.")
      .def(py::init<std::size_t>(), py::arg("plans_kept"))
      .def("run", &RunOperator, py::arg("op"), py::arg("attributes"), py::arg("positional"), py::arg("by_name"));

  py::class_<RecordedRun, std::shared_ptr<RecordedRun>>(module, "RecordedRun",
                                                        "A run that keeps what its gradients read.")
      .def("outputs", [](const RecordedRun& run) { return ListOf(run.Outputs()); })
      .def("num_kept", [](const RecordedRun& run) { return run.Kept().size(); })
      .def("owns_gradient", &RecordedRun::OwnsGradient)
      .def("backward", &RunBackward, py::arg("heads"), py::arg("is_asked"))
      .def("derive", &Derive, py::arg("heads"), py::arg("is_asked"), py::arg("differentiable"));

  py::class_<DifferentiableGraph, std::shared_ptr<DifferentiableGraph>>(
      module, "DifferentiableGraph", "A symbol that runs first and is differentiated afterwards.")
      .def(py::init<const Symbol&, std::vector<std::string>, std::vector<bool>, bool>(), py::arg("symbol"),
           py::arg("inputs"), py::arg("is_asked"), py::arg("is_train"));

  py::class_<Recorder>(module, "Recorder", "Runs operators and graphs that are differentiated afterwards.")
      .def(py::init<std::size_t>(), py::arg("plans_kept"))
      .def("run", &RecordOperator, py::arg("op"), py::arg("attributes"), py::arg("positional"), py::arg("by_name"),
           py::arg("is_asked"), py::arg("is_train"), py::arg("key"))
      .def("run_graph", &RecordGraph, py::arg("graph"), py::arg("inputs"), py::arg("key"));
}

}  // namespace amp::python
