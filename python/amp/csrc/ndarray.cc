// NDArray: memory shared with NumPy, both ways.
#include "nnvm/ndarray.h"

#include <cstring>
#include <optional>
#include <utility>

#include "bindings.h"
#include "gil.h"
#include "program/cast_arrays.h"

namespace amp::python {

thread_local int current_device = 0;

namespace {

std::string ReprOf(py::handle object) { return Quotable(py::repr(object).cast<std::string>()); }

// The dtype that MXNet uses for bfloat16 arrays in NumPy: a structure with one field.
bool IsMXNetBF16(const py::dtype& dtype) {
  return dtype.has_fields() && py::len(dtype.attr("names")) == 1 && dtype.itemsize() == 2 &&
         dtype.attr("names").cast<py::tuple>()[0].cast<std::string>() == "bfloat16";
}

// kUnknown where we have no such type.
DType FindDTypeOf(const py::dtype& dtype) {
  if (IsMXNetBF16(dtype)) return DType::kBFloat16;
  if (!dtype.attr("isnative").cast<bool>()) return DType::kUnknown;
  return FindDType(dtype.attr("name").cast<std::string>()).value_or(DType::kUnknown);
}

// Why an array of this dtype is refused.
std::string Objection(const py::dtype& dtype) {
  const std::string name = py::str(dtype).cast<std::string>();
  if (!dtype.attr("isnative").cast<bool>()) {
    return fmt::format("the byte-swapped dtype {} (use .astype('{}'))", name, dtype.attr("name").cast<std::string>());
  }
  return fmt::format("the unsupported dtype {}", name);
}

py::array CopyInOrder(const py::array& array) { return array.attr("copy")("C").cast<py::array>(); }

bool IsPlain(const py::array& array) {
  constexpr int kWanted = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  return (array.flags() & kWanted) == kWanted;
}

Array ArrayOfNumpy(py::array array, const std::string& what, bool may_copy) {
  const DType dtype = FindDTypeOf(array.dtype());
  if (!IsKnown(dtype)) Throw<ArgumentError>("{} has {}", what, Objection(array.dtype()));
  if (array.ndim() > kMaxRank)
    Throw<ArgumentError>("{} has {} dimensions; at most {} are supported", what, array.ndim(), kMaxRank);
  if (!IsPlain(array)) {
    if (!may_copy) Throw<ArgumentError>("{} is not C-contiguous", what);
    array = CopyInOrder(array);
  }
  std::vector<std::int64_t> dims(array.shape(), array.shape() + array.ndim());
  void* data = const_cast<void*>(array.data());
  const bool writable = array.writeable();
  Array result{NDArray({dtype, Shape(std::move(dims))}, data, KeepAlive(std::move(array))), writable};
  result.writes->views = 1;
  return result;
}

bool HasDLPack(py::handle object) { return py::hasattr(object, "__dlpack__") && !py::isinstance<py::array>(object); }

py::array AsNumpy(py::handle object, const std::string& what) {
  try {
    return py::module_::import("numpy").attr("asarray")(object).cast<py::array>();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
    Throw<ArgumentError>("{} cannot be read as an array: {}", what, Quotable(error.what()));
  }
}

// NumPy would read its numbers without the mask.
void RefuseMasks(py::handle object, const std::string& what) {
  const bool is_plain =
      reinterpret_cast<PyTypeObject*>(py::detail::npy_api::get().PyArray_Type_) == Py_TYPE(object.ptr());
  if (is_plain || !py::isinstance<py::array>(object) || !py::hasattr(object, "mask")) return;
  Throw<ArgumentError>("{} is a masked array, and masks are not read; use .filled(value)", what);
}

// A view that `owner` keeps alive.
py::array ViewOf(const Array& array, const py::object& owner) {
  const auto& dims = array.array.shape().dims();
  py::array view(NumpyDType(array.array.dtype()), std::vector<py::ssize_t>(dims.begin(), dims.end()), {},
                 array.array.data(), owner);
  if (!array.writable) view.attr("flags").attr("writeable") = false;
  return view;
}

// For use within one call: no other reader gets it.
py::array ViewOf(const py::object& self) { return ViewOf(self.cast<const Array&>(), self); }

// What a view for others holds while it lives.
struct LivingView {
  NDArray array;
  std::shared_ptr<Writes> writes;
};

py::array ToNumpy(const py::object& self) {
  const Array& array = self.cast<const Array&>();
  ++array.writes->views;
  const py::capsule owner(new LivingView{array.array, array.writes}, [](void* held) {
    const std::unique_ptr<LivingView> view(static_cast<LivingView*>(held));
    ++view->writes->count;  // it may have been written to
    --view->writes->views;
  });
  return ViewOf(array, owner);
}

py::array CopyToNumpy(const Array& array) {
  const auto& dims = array.array.shape().dims();
  return {NumpyDType(array.array.dtype()), std::vector<py::ssize_t>(dims.begin(), dims.end()), array.array.data()};
}

bool IsInside(const NDArray& part, const NDArray& whole) {
  const auto* begin = static_cast<const char*>(whole.data());
  const auto* data = static_cast<const char*>(part.data());
  return data >= begin && data < begin + whole.bytes();
}

// A view where NumPy gives one, else a copy.
Array GetItem(const py::object& self, const py::object& key) {
  const Array& array = self.cast<const Array&>();
  Array item = ArrayOf(py::object(ViewOf(self)[key]));
  item.device = array.device;
  item.writes = IsInside(item.array, array.array) ? array.writes : std::make_shared<Writes>();
  return item;
}

void SetItem(const py::object& self, const py::object& key, const py::object& value) {
  ViewOf(self).attr("__setitem__")(key, value);
  ++self.cast<const Array&>().writes->count;
}

py::object ToNumpyAs(const py::object& self, const py::object& dtype, const py::object& copy) {
  const py::array view = ToNumpy(self);
  const py::object wanted = dtype.is_none() ? py::object(view.dtype()) : py::object(py::dtype::from_args(dtype));
  const bool same = wanted.equal(view.dtype());
  const bool must_copy = !copy.is_none() && copy.cast<bool>();
  if (same && !must_copy) return view;
  if (!copy.is_none() && !must_copy)
    throw py::value_error("an NDArray of another dtype cannot be viewed without a copy");
  return view.attr("astype")(wanted);
}

NDArray Duplicate(const NDArray& array) {
  NDArray duplicate(array.dtype(), array.shape());
  if (array.bytes() > 0) std::memcpy(duplicate.data(), array.data(), static_cast<std::size_t>(array.bytes()));
  return duplicate;
}

// An array of its own on the device of `self`.
Array Like(const Array& self, NDArray elements) {
  Array array{std::move(elements)};
  array.device = self.device;
  return array;
}

Array Cast(const Array& self, py::handle dtype, bool copy) {
  const DType target = DTypeOf(dtype);
  if (target == self.array.dtype() && !copy) return self;
  NDArray result;
  ReleaseGil([&] { result = target == self.array.dtype() ? Duplicate(self.array) : CastArray(self.array, target); });
  return Like(self, std::move(result));
}

Array Copy(const Array& self) { return Cast(self, NumpyDType(self.array.dtype()), true); }

// One dimension may be -1: what the others leave.
Array Reshape(const Array& self, const py::args& args) {
  const py::object dims =
      args.size() == 1 && !py::isinstance<py::int_>(args[0]) ? py::object(args[0]) : py::object(args);
  Shape shape = ShapeOf(dims, "the new shape", -1);
  std::int64_t others = 1;
  int unknown = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) {
      others *= shape[axis];
    } else if (std::exchange(unknown, axis) >= 0) {
      Throw<ArgumentError>("the new shape {} leaves more than one dimension open", shape.ToString());
    }
  }
  if (unknown >= 0) {
    if (others == 0 || self.array.size() % others != 0) {
      Throw<ArgumentError>("cannot view an array of shape {} as {}", self.array.shape().ToString(), shape.ToString());
    }
    shape[unknown] = self.array.size() / others;
  }
  Array view{self.array.Reshaped(std::move(shape)), self.writable, self.writes};
  view.device = self.device;
  return view;
}

// Moves the elements to memory of their own where NumPy or DLPack look at them: these keep what they show.
void LeaveViews(Array& self) {
  if (self.writes->views == 0 && self.writable) return;
  NDArray own;
  ReleaseGil([&] { own = Duplicate(self.array); });
  self.writes->was_left = true;
  self.array = std::move(own);
  self.writes = std::make_shared<Writes>();
  self.writable = true;
}

py::object PlaceOf(const Array& self) {
  if (self.place == nullptr) return py::none();
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(const_cast<void*>(self.place.get())));
}

void SetPlace(Array& self, const py::object& place) { self.place = place.is_none() ? nullptr : KeepAlive(place); }

py::ssize_t Length(const Array& self) {
  if (self.array.shape().rank() == 0) throw py::type_error("len() of an NDArray without dimensions");
  return self.array.shape()[0];
}

std::string Repr(const py::object& self) {
  const Array& array = self.cast<const Array&>();
  return py::str(ViewOf(self)).cast<std::string>() + "\n<NDArray " + array.array.type().ToString() + ">";
}

py::capsule ToDLPack(const Array& self, const py::object& stream, const py::object& max_version,
                     const py::object& dl_device, const py::object& copy) {
  if (!stream.is_none()) throw py::value_error("a CPU array takes no stream, got " + ReprOf(stream));
  if (!dl_device.is_none() && !dl_device.equal(py::make_tuple(1, 0))) {
    throw py::buffer_error("the array is in CPU memory and cannot be given on device " + ReprOf(dl_device));
  }
  const bool versioned = !max_version.is_none() && max_version.cast<py::tuple>()[0].cast<int>() >= 1;
  const bool is_copy = !copy.is_none() && copy.cast<bool>();
  if (!is_copy) ++self.writes->views;
  return ArrayToDLPack(is_copy ? Copy(self) : self, versioned, is_copy);
}

py::tuple Pickle(const py::object& self) {
  const Array& array = self.cast<const Array&>();
  return py::make_tuple(NameOf(array.array.dtype()), TupleOf(array.array.shape()),
                        py::bytes(array.array.As<char>(), static_cast<std::size_t>(array.array.bytes())));
}

Array Unpickle(const py::tuple& state) {
  const auto bytes = state[2].cast<std::string>();
  NDArray array(DTypeOf(state[0]), ShapeOf(state[1], "the shape"));
  if (static_cast<std::int64_t>(bytes.size()) != array.bytes()) throw ArgumentError("a pickled NDArray is damaged");
  std::memcpy(array.data(), bytes.data(), bytes.size());
  return {std::move(array), true};
}

// NDArray(None) is what pickles of MXNet begin with; `_become` follows.
Array Construct(const py::object& object, const py::object& dtype) {
  if (object.is_none()) return {NDArray(DType::kFloat32, Shape({0})), true};
  Array array = ArrayOf(object);
  return dtype.is_none() ? array : Cast(array, dtype, false);
}

}  // namespace

DType DTypeOf(py::handle spelling) {
  if (spelling.is_none()) throw ArgumentError("expected a dtype, got None");
  if (py::isinstance<py::str>(spelling)) {
    if (const auto found = FindDType(spelling.cast<std::string>())) return *found;
  }
  std::optional<py::dtype> dtype;
  try {
    dtype = py::dtype::from_args(py::reinterpret_borrow<py::object>(spelling));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
  }
  if (dtype && IsKnown(FindDTypeOf(*dtype))) return FindDTypeOf(*dtype);
  if (py::isinstance<py::str>(spelling)) return DTypeFromName(Quotable(spelling.cast<std::string>()));  // throws
  if (dtype) Throw<ArgumentError>("{} is {}", ReprOf(spelling), Objection(*dtype));
  Throw<ArgumentError>("expected a dtype, got {}", ReprOf(spelling));
}

py::dtype NumpyDType(DType dtype) {
  if (dtype == DType::kBFloat16) return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  return py::dtype(NameOf(dtype));
}

Shape ShapeOf(py::handle dims, const std::string& what, std::int64_t smallest) {
  std::vector<std::int64_t> sizes;
  try {
    if (py::isinstance<py::str>(dims)) throw py::type_error("text");
    for (const py::handle dim : py::reinterpret_borrow<py::iterable>(dims)) sizes.push_back(dim.cast<std::int64_t>());
  } catch (const std::exception&) {
    Throw<ArgumentError>("{}: expected a sequence of integers, got {}", what, ReprOf(dims));
  }
  for (const std::int64_t size : sizes) {
    if (size < smallest)
      Throw<ArgumentError>("{}: dimensions must be at least {}, got {}", what, smallest, ReprOf(dims));
  }
  if (static_cast<int>(sizes.size()) > kMaxRank) {
    Throw<ArgumentError>("{} has {} dimensions; at most {} are supported", what, sizes.size(), kMaxRank);
  }
  return Shape(std::move(sizes));
}

py::tuple TupleOf(const Shape& shape) { return py::tuple(py::cast(shape.dims())); }

std::shared_ptr<const void> KeepAlive(py::object object) {
  return {object.release().ptr(),
          [](const void* held) { WithGil([held] { Py_DECREF(static_cast<PyObject*>(const_cast<void*>(held))); }); }};
}

Array ArrayOf(py::handle object, const std::string& what) {
  if (py::isinstance<Array>(object)) return object.cast<Array>();
  if (object.is_none()) Throw<ArgumentError>("{} is None", what);
  RefuseMasks(object, what);
  if (HasDLPack(object)) return ArrayFromDLPack(py::reinterpret_borrow<py::object>(object));
  return ArrayOfNumpy(AsNumpy(object, what), what, true);
}

Array WritableArrayOf(py::handle object, const std::string& what) {
  Array array;
  if (py::isinstance<Array>(object)) {
    array = object.cast<Array>();
  } else if (py::isinstance<py::array>(object)) {
    array = ArrayOfNumpy(py::reinterpret_borrow<py::array>(object), what, false);
  } else {
    Throw<ArgumentError>("{}: expected an NDArray or a NumPy array to write to, got {}", what, ReprOf(object));
  }
  if (!array.writable) Throw<ArgumentError>("{} is read-only", what);
  ++array.writes->count;
  return array;
}

NDArrayMap ArrayMapOf(const py::dict& arrays, const std::string& what) {
  NDArrayMap map;
  for (const auto& [name, array] : arrays) {
    if (!py::isinstance<py::str>(name)) Throw<ArgumentError>("{}: names must be text, got {}", what, ReprOf(name));
    const auto key = name.cast<std::string>();
    map[key] = ArrayOf(array, fmt::format("{} '{}'", what, Quotable(key))).array;
  }
  return map;
}

py::str TextOf(const std::string& utf8, const std::string& what) {
  PyObject* text = PyUnicode_DecodeUTF8(utf8.data(), static_cast<py::ssize_t>(utf8.size()), "strict");
  if (text == nullptr) {
    PyErr_Clear();
    Throw<GraphError>("{} is not UTF-8: '{}'", what, Quotable(utf8));
  }
  return py::reinterpret_steal<py::str>(text);
}

py::dict DictOf(const NDArrayMap& arrays) {
  py::dict dict;
  for (const auto& [name, array] : arrays) dict[TextOf(name, "an array's name")] = Array{array, true};
  return dict;
}

py::list ListOf(std::vector<NDArray> arrays) {
  py::list list;
  for (NDArray& array : arrays) list.append(Array{std::move(array), true});
  return list;
}

TypeMap TypeMapOf(const py::dict& types) {
  TypeMap map;
  for (const auto& [name, type] : types) {
    const auto key = name.cast<std::string>();
    const auto pair = type.cast<py::tuple>();
    TensorType& entry = map[key];
    if (!pair[0].is_none()) entry.dtype = DTypeOf(pair[0]);
    if (!pair[1].is_none()) entry.shape = ShapeOf(pair[1], "the shape of '" + Quotable(key) + "'", kUnknownDim);
  }
  return map;
}

py::list TypeList(const std::vector<TensorType>& types) {
  py::list list;
  for (const TensorType& type : types) list.append(py::make_tuple(NumpyDType(type.dtype), TupleOf(type.shape)));
  return list;
}

void BindNDArray(py::module_& module) {
  module.def(
      "dtype_name", [](py::handle dtype) { return NameOf(DTypeOf(dtype)); }, py::arg("dtype"));
  module.def(
      "dtype_code", [](py::handle dtype) { return InfoOf(DTypeOf(dtype)).mxnet_code; }, py::arg("dtype"));
  module.def(
      "numpy_dtype", [](py::handle dtype) { return NumpyDType(DTypeOf(dtype)); }, py::arg("dtype"));
  module.def("from_dlpack", ArrayFromDLPack, py::arg("producer"));
  module.def(
      "set_current_device", [](int device) { return std::exchange(current_device, device); }, py::arg("device"),
      "Arrays that this thread makes are on the device of this number from now on; returns that before.");

  py::class_<Array> type(module, "NDArray", R"(A dense, row-major array in CPU memory.

NDArray(object, dtype=None) shares the memory of a C-contiguous NumPy array, of a DLPack producer or of another
NDArray; anything else is copied as NumPy would read it. NumPy reads an NDArray without a copy (numpy.asarray).
Raises ArgumentError for byte-swapped, complex, text and object arrays.)");
  type.attr("__module__") = "amp";
  type.def(py::init(&Construct), py::arg("object"), py::arg("dtype") = py::none())
      .def_property_readonly(
          "shape", [](const Array& self) { return TupleOf(self.array.shape()); }, "Tuple of int.")
      .def_property_readonly(
          "dtype", [](const Array& self) { return NumpyDType(self.array.dtype()); },
          "numpy.dtype; that of ml_dtypes.bfloat16 for bfloat16.")
      .def_property_readonly(
          "size", [](const Array& self) { return self.array.size(); }, "Number of elements.")
      .def_property_readonly(
          "ndim", [](const Array& self) { return self.array.shape().rank(); }, "Number of dimensions.")
      .def_property_readonly(
          "nbytes", [](const Array& self) { return self.array.bytes(); }, "Bytes of all elements.")
      .def("asnumpy", &CopyToNumpy,
           "A copy of the array as a numpy.ndarray. `np.asarray(array)` gives one that shares its memory and keeps it "
           "alive.")
      .def("__array__", &ToNumpyAs, py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack__", &ToDLPack, py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
           py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const Array&) { return py::make_tuple(1, 0); })
      .def("astype", &Cast, py::arg("dtype"), py::arg("copy") = true,
           "A copy with another dtype. To floats: rounded once, to nearest even. With copy=False an array that already "
           "has the dtype is returned as it is.")
      .def("copy", &Copy, "A copy in memory of its own.")
      .def("reshape", &Reshape,
           "The same elements under another shape, given as a tuple or as arguments; one dimension "
           "may be -1. Shares memory. Raises ArgumentError where the number of elements differs.")
      .def_property("_place", &PlaceOf, &SetPlace)
      .def_property(
          "_device_id", [](const Array& self) { return self.device; },
          [](Array& self, int device) { self.device = device; })
      .def_property_readonly("_is_untouched",
                             [](const Array& self) { return self.writes->count == 0 && self.writes->views == 0; })
      .def("_leave_views", &LeaveViews)
      .def("_become", [](Array& self, const Array& other) { self = other; })
      .def(
          "wait_to_read", [](const Array&) {}, "Does nothing: results are complete when a call returns.")
      .def("__len__", &Length)
      .def("__getitem__", &GetItem)
      .def("__setitem__", &SetItem)
      .def("__repr__", &Repr)
      .def("__copy__", &Copy)
      .def("__deepcopy__", [](const Array& self, const py::dict&) { return Copy(self); })
      .def(py::pickle(&Pickle, &Unpickle));
}

}  // namespace amp::python
