// Error and its subclasses, which are also the built-in exceptions that a Python programmer expects.
#include "nnvm/error.h"

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "bindings.h"

namespace amp::python {
namespace {

// Made once and never freed: exceptions may be raised until the interpreter's end.
PyObject* error_class = nullptr;
PyObject* graph_error_class = nullptr;
PyObject* argument_error_class = nullptr;
PyObject* unsupported_error_class = nullptr;
PyObject* internal_error_class = nullptr;
PyObject* index_error_class = nullptr;
PyObject* plan_mismatch_class = nullptr;

PyObject* MakeClass(py::module_& module, const char* name, const char* doc, py::object bases) {
  const std::string full_name = std::string("amp.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.attr(name) = py::handle(made);
  return made;
}

PyObject* MakeSubclass(py::module_& module, const char* name, const char* doc, PyObject* built_in) {
  return MakeClass(module, name, doc, py::make_tuple(py::handle(error_class), py::handle(built_in)));
}

bool IsOneDnnError(const std::exception& error) {
  return std::string_view(typeid(error).name()).find("dnnl") != std::string_view::npos;
}

// Messages may quote file names, which need not be UTF-8.
void Raise(PyObject* type, const char* message) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(message, static_cast<py::ssize_t>(std::strlen(message)), "backslashreplace"));
  if (text) PyErr_SetObject(type, text.ptr());
}

void Translate(std::exception_ptr pointer) {
  if (!pointer) return;
  try {
    std::rethrow_exception(pointer);
  } catch (const IndexError& error) {
    Raise(index_error_class, error.what());
  } catch (const GraphError& error) {
    Raise(graph_error_class, error.what());
  } catch (const PlanMismatch& error) {
    Raise(plan_mismatch_class, error.what());
  } catch (const ArgumentError& error) {
    Raise(argument_error_class, error.what());
  } catch (const UnsupportedError& error) {
    Raise(unsupported_error_class, error.what());
  } catch (const InternalError& error) {
    Raise(internal_error_class, error.what());
  } catch (const Error& error) {
    Raise(error_class, error.what());
  } catch (const std::bad_alloc&) {
    Raise(error_class, "there is not enough memory");
  } catch (const std::length_error& error) {
    Raise(error_class, (std::string("more memory than any process can have: ") + error.what()).c_str());
  } catch (const std::exception& error) {
    if (!IsOneDnnError(error)) throw;  // pybind11 knows the standard ones
    Raise(internal_error_class, (std::string("oneDNN: ") + error.what()).c_str());
  }
}

}  // namespace

void BindErrors(py::module_& module) {
  error_class = MakeClass(module, "Error", "Base class of all errors of this package (MXNet: MXNetError).",
                          py::reinterpret_borrow<py::object>(PyExc_RuntimeError));  // as MXNetError
  graph_error_class =
      MakeSubclass(module, "GraphError", "The model, or the file it came from, is wrong.", PyExc_ValueError);
  index_error_class = MakeClass(module, "OutOfRangeError", "A position in data that does not exist.",
                                py::make_tuple(py::handle(graph_error_class), py::handle(PyExc_IndexError)));
  argument_error_class = MakeSubclass(module, "ArgumentError", "The caller passed something wrong.", PyExc_ValueError);
  plan_mismatch_class =
      MakeClass(module, "PlanMismatch", "A plan file does not fit here: another build or CPU, or other parameters.",
                py::reinterpret_borrow<py::object>(argument_error_class));
  unsupported_error_class =
      MakeSubclass(module, "UnsupportedError", "Valid, but not implemented.", PyExc_NotImplementedError);
  internal_error_class = MakeSubclass(module, "InternalError", "A defect of this package.", PyExc_RuntimeError);
  py::register_exception_translator(Translate);
}

}  // namespace amp::python
