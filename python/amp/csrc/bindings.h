// What the files of the extension share: conversions between Python's and our types, and one Bind function per concept.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nnvm/error.h"
#include "nnvm/ndarray.h"
#include "passes/infer.h"

namespace amp::python {

namespace py = pybind11;

// Writes to memory that several arrays may share. Those through amp.NDArray are counted. Those through views that NumPy
// or DLPack have are not: while such a view lives, contents have to be compared.
struct Writes {
  std::atomic<std::uint64_t> count = 0;
  std::atomic<int> views = 0;          // memory of another owner always has one
  std::atomic<bool> was_left = false;  // an array that had this memory has its elements elsewhere now
};

// The number of the device on which arrays of this thread are made. All devices are the CPU: what differs is which of a
// parameter's copies a block computes with.
extern thread_local int current_device;

// The class amp.NDArray. Memory that its owner declared read-only stays so.
struct Array {
  NDArray array;
  bool writable = true;
  std::shared_ptr<Writes> writes = std::make_shared<Writes>();
  // A Python object: where the array stands in what autograd records (see amp._tape). It goes with the elements as long
  // as they keep their shape and dtype. nullptr: nowhere.
  std::shared_ptr<const void> place = nullptr;
  int device = current_device;
};

// "float32", numpy.float32, ml_dtypes.bfloat16, numpy.dtype([("bfloat16", numpy.uint16)]): everything that names an
// element type. Throws ArgumentError.
DType DTypeOf(py::handle spelling);
py::dtype NumpyDType(DType dtype);

// A sequence of sizes; each must be at least `smallest`. Throws ArgumentError that begins with `what`.
Shape ShapeOf(py::handle dims, const std::string& what, std::int64_t smallest = 0);
py::tuple TupleOf(const Shape& shape);

// An array that shares memory with `object` (NDArray, NumPy array, DLPack producer) wherever that is row-major, and is
// a copy otherwise; nested sequences are what NumPy makes of them. `what` names the array in errors.
Array ArrayOf(py::handle object, const std::string& what = "the array");
// Like ArrayOf, but without any copy, for output: throws ArgumentError where memory cannot be shared or written.
Array WritableArrayOf(py::handle object, const std::string& what);

Array ArrayFromDLPack(const py::object& producer);
py::capsule ArrayToDLPack(const Array& array, bool versioned, bool is_copy);

// Text from a file. Throws GraphError that begins with `what` where it is not UTF-8.
py::str TextOf(const std::string& utf8, const std::string& what);

NDArrayMap ArrayMapOf(const py::dict& arrays, const std::string& what);
py::dict DictOf(const NDArrayMap& arrays);
py::list ListOf(std::vector<NDArray> arrays);

// {name: (dtype or None, shape or None)}
TypeMap TypeMapOf(const py::dict& types);
// [(dtype, shape)]
py::list TypeList(const std::vector<TensorType>& types);

// Keeps a Python object alive; it may be let go of by any thread.
std::shared_ptr<const void> KeepAlive(py::object object);

void BindErrors(py::module_& module);
void BindNDArray(py::module_& module);
void BindSnapshot(py::module_& module);
void BindParams(py::module_& module);
void BindRegistry(py::module_& module);
void BindSymbol(py::module_& module);
void BindConvert(py::module_& module);
void BindGradient(py::module_& module);
void BindAlternate(py::module_& module);
void BindExecutor(py::module_& module);
void BindGradientExecutor(py::module_& module);
void BindOperators(py::module_& module);
void BindMap(py::module_& module);
void BindComm(py::module_& module);
void BindRing(py::module_& module);
void BindCustom(py::module_& module);
void BindTrust(py::module_& module);

}  // namespace amp::python
