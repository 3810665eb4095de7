// The DLPack protocol: arrays of other libraries without a copy. The structures are those of DLPack's C ABI, versions
// 0.x (a capsule "dltensor") and 1.x ("dltensor_versioned").
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "bindings.h"
#include "gil.h"

namespace amp::python {
namespace {

constexpr std::int32_t kDLCpu = 1;
constexpr std::uint64_t kFlagReadOnly = 1;
constexpr std::uint64_t kFlagIsCopied = 2;

struct DLDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for row-major
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsedName = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsedName = "used_dltensor_versioned";
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor tensor;
};

enum DLCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct CodeRow {
  DType dtype;
  DLCode code;
  std::uint8_t bits;
};
constexpr CodeRow kCodes[] = {
    {DType::kFloat32, kFloat, 32},   {DType::kFloat64, kFloat, 64}, {DType::kFloat16, kFloat, 16},
    {DType::kBFloat16, kBfloat, 16}, {DType::kBool, kBool, 8},      {DType::kUInt8, kUInt, 8},
    {DType::kUInt16, kUInt, 16},     {DType::kUInt32, kUInt, 32},   {DType::kUInt64, kUInt, 64},
    {DType::kInt8, kInt, 8},         {DType::kInt16, kInt, 16},     {DType::kInt32, kInt, 32},
    {DType::kInt64, kInt, 64},
};

DLDataType CodeOf(DType dtype) {
  for (const CodeRow& row : kCodes) {
    if (row.dtype == dtype) return {row.code, row.bits, 1};
  }
  throw InternalError("a dtype without a DLPack code");
}

DType DTypeOfCode(const DLDataType& type) {
  for (const CodeRow& row : kCodes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  Throw<ArgumentError>("the DLPack array has an unsupported dtype (code {}, {} bits, {} lanes)", type.code, type.bits,
                       type.lanes);
}

// What an exported tensor points into.
struct Exported {
  NDArray array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

std::vector<std::int64_t> RowMajorStrides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

DLTensor TensorOf(Exported& exported) {
  const NDArray& array = exported.array;
  return {array.data(),
          {kDLCpu, 0},
          array.shape().rank(),
          CodeOf(array.dtype()),
          exported.shape.data(),
          exported.strides.data(),
          0};
}

template <class Managed>
void Delete(Managed* managed) {
  delete static_cast<Exported*>(managed->context);
  delete managed;
}

// A capsule that nobody consumed still owns its tensor.
template <class Managed>
void DropUnused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::kName)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class Managed>
py::capsule Export(const NDArray& array, Managed managed) {
  const auto& dims = array.shape().dims();
  auto exported = std::make_unique<Exported>(Exported{array, dims, RowMajorStrides(dims)});
  auto owned = std::make_unique<Managed>(managed);
  owned->tensor = TensorOf(*exported);
  owned->context = exported.release();
  owned->deleter = Delete<Managed>;
  PyObject* capsule = PyCapsule_New(owned.get(), Managed::kName, DropUnused<Managed>);
  if (capsule == nullptr) {
    Delete(owned.release());
    throw py::error_already_set();
  }
  owned.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

bool IsRowMajor(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// Element by element, in the order of the result.
NDArray CopyStrided(const DLTensor& tensor, const char* data, const TensorType& type) {
  NDArray copy(type.dtype, type.shape);
  const std::int64_t bytes = BytesOf(type.dtype);
  std::vector<std::int64_t> index(type.shape.rank());
  for (std::int64_t i = 0; i < copy.size(); ++i) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < type.shape.rank(); ++axis) offset += index[axis] * tensor.strides[axis];
    std::memcpy(copy.As<char>() + i * bytes, data + offset * bytes, static_cast<std::size_t>(bytes));
    for (int axis = type.shape.rank() - 1; axis >= 0 && ++index[axis] == type.shape[axis]; --axis) index[axis] = 0;
  }
  return copy;
}

void CheckTensor(const DLTensor& tensor) {
  if (tensor.device.type != kDLCpu) {
    Throw<ArgumentError>("the DLPack array is on device type {}; only CPU memory can be read", tensor.device.type);
  }
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
    Throw<ArgumentError>("the DLPack array has {} dimensions; at most {} are supported", tensor.ndim, kMaxRank);
  }
}

// Takes the tensor out of its capsule, whose owner we become.
template <class Managed>
Array Import(const py::object& capsule, bool writable) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  if (managed == nullptr) throw py::error_already_set();
  CheckTensor(managed->tensor);
  const DLTensor& tensor = managed->tensor;
  const TensorType type{DTypeOfCode(tensor.dtype),
                        Shape(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.ndim))};
  char* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (!IsRowMajor(tensor)) return {CopyStrided(tensor, data, type), true};  // the capsule still owns the original

  PyCapsule_SetName(capsule.ptr(), Managed::kUsedName);
  std::shared_ptr<const void> owner(managed, [](Managed* consumed) {
    if (consumed->deleter == nullptr) return;
    WithGil([consumed] { consumed->deleter(consumed); });  // producers differ in whether they take it themselves
  });
  return {NDArray(type, data, std::move(owner)), writable};
}

py::object RequestCapsule(const py::object& producer) {
  const auto device = producer.attr("__dlpack_device__")().cast<py::tuple>();
  if (device[0].cast<int>() != kDLCpu) {
    Throw<ArgumentError>("the DLPack array is on device type {}; only CPU memory can be read", device[0].cast<int>());
  }
  try {
    return producer.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // a producer of the protocol's first version
  }
  return producer.attr("__dlpack__")();
}

}  // namespace

py::capsule ArrayToDLPack(const Array& array, bool versioned, bool is_copy) {
  if (!versioned) {
    if (!array.writable) throw py::buffer_error("a read-only array needs DLPack 1.0 or newer");
    return Export(array.array, DLManagedTensor{});
  }
  DLManagedTensorVersioned managed{};
  managed.major = 1;
  managed.flags = (array.writable ? 0 : kFlagReadOnly) | (is_copy ? kFlagIsCopied : 0);
  return Export(array.array, managed);
}

namespace {

Array Imported(const py::object& producer) {
  if (!py::hasattr(producer, "__dlpack__") || !py::hasattr(producer, "__dlpack_device__")) {
    throw py::type_error("expected an object with __dlpack__ and __dlpack_device__");
  }
  const py::object capsule = RequestCapsule(producer);
  if (PyCapsule_IsValid(capsule.ptr(), DLManagedTensorVersioned::kName)) {
    const auto* managed = static_cast<const DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), DLManagedTensorVersioned::kName));
    if (managed->major != 1) Throw<ArgumentError>("DLPack version {} is not supported", managed->major);
    return Import<DLManagedTensorVersioned>(capsule, (managed->flags & kFlagReadOnly) == 0);
  }
  if (PyCapsule_IsValid(capsule.ptr(), DLManagedTensor::kName)) return Import<DLManagedTensor>(capsule, true);
  throw ArgumentError("__dlpack__ returned no unused DLPack capsule");
}

}  // namespace

Array ArrayFromDLPack(const py::object& producer) {
  Array array = Imported(producer);
  array.writes->views = 1;
  return array;
}

}  // namespace amp::python
