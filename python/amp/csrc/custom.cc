// Operators that Python defines: amp.mxnet.operator.
#include "ops/elementwise/custom.h"

#include <cstring>
#include <optional>

#include "bindings.h"
#include "gil.h"

namespace amp::python {
namespace {

// Arrays of steps lie in memory that others use later: Python gets copies, which it may keep.
py::list CopiesOf(std::span<const NDArray> arrays) {
  std::vector<NDArray> copies;
  for (const NDArray& array : arrays) {
    copies.emplace_back(array.dtype(), array.shape());
    if (array.bytes() != 0) std::memcpy(copies.back().data(), array.data(), static_cast<std::size_t>(array.bytes()));
  }
  return ListOf(std::move(copies));
}

std::vector<NDArray> ResultsOf(const py::object& results) {
  std::vector<NDArray> arrays;
  for (const py::handle result : results) arrays.push_back(ArrayOf(result, "a result").array);
  return arrays;
}

// An object with `arguments`, `states`, `outputs`, `infer_shape`, `infer_type`, `forward` and `backward`; see
// amp.mxnet.operator.custom_nodes. What its methods raise passes through graphs and plans.
class PythonOperator : public CustomOperator {
 public:
  explicit PythonOperator(const py::object& object)
      : CustomOperator(Names(object, "arguments"), Names(object, "states"), Names(object, "outputs")),
        object_(KeepAlive(object)) {}

  std::vector<Shape> InferShapes(const std::vector<Shape>& arguments) const override {
    const py::gil_scoped_acquire gil;
    py::list known;
    for (const Shape& shape : arguments) known.append(shape.fully_known() ? py::object(TupleOf(shape)) : py::none());
    std::vector<Shape> shapes;
    for (const py::handle shape : py::object(Object().attr("infer_shape")(known))) {
      shapes.push_back(shape.is_none() ? Shape() : ShapeOf(shape, "infer_shape"));
    }
    return shapes;
  }

  std::vector<DType> InferDTypes(const std::vector<DType>& arguments) const override {
    const py::gil_scoped_acquire gil;
    py::list known;
    for (const DType dtype : arguments) known.append(IsKnown(dtype) ? py::object(NumpyDType(dtype)) : py::none());
    std::vector<DType> dtypes;
    for (const py::handle dtype : py::object(Object().attr("infer_type")(known))) dtypes.push_back(DTypeOf(dtype));
    return dtypes;
  }

  std::vector<NDArray> Forward(bool is_train, std::span<const NDArray> inputs) const override {
    const py::gil_scoped_acquire gil;
    return ResultsOf(Object().attr("forward")(is_train, CopiesOf(inputs)));
  }

  std::vector<NDArray> Backward(std::span<const NDArray> output_gradients, std::span<const NDArray> inputs,
                                std::span<const NDArray> results) const override {
    const py::gil_scoped_acquire gil;
    return ResultsOf(Object().attr("backward")(CopiesOf(output_gradients), CopiesOf(inputs), CopiesOf(results)));
  }

 private:
  static std::vector<std::string> Names(const py::object& object, const char* what) {
    return object.attr(what).cast<std::vector<std::string>>();
  }
  py::handle Object() const { return static_cast<PyObject*>(const_cast<void*>(object_.get())); }

  const std::shared_ptr<const void> object_;
};

// Attributes that name no operator are an error of the graph.
std::shared_ptr<const CustomOperator> Made(py::handle make, const AttrMap& attrs) {
  const py::gil_scoped_acquire gil;
  try {
    return std::make_shared<PythonOperator>(make(py::cast(attrs)));
  } catch (const py::error_already_set& error) {
    throw GraphError(py::str(error.value()).cast<std::string>());
  }
}

}  // namespace

MakeCustomOperator MakerOf(const py::object& make) {
  return [kept = KeepAlive(make)](const AttrMap& attrs) {
    return Made(static_cast<PyObject*>(const_cast<void*>(kept.get())), attrs);
  };
}

void BindCustom(py::module_& module) {
  module.def(
      "register_custom_operators", [](const py::object& make) { RegisterCustomOperators(MakerOf(make)); },
      py::arg("make"), "Registers `Custom`: `make(attributes)` gives the operator of a node. To be called once.");
  module.def(
      "register_custom_name",
      [](const std::string& name, const std::string& doc, const py::object& make) {
        RegisterCustomName(name, doc, MakerOf(make));
      },
      py::arg("name"), py::arg("doc"), py::arg("make"),
      "Registers an operator whose nodes are those of `Custom` with this `op_type`.");
}

}  // namespace amp::python
