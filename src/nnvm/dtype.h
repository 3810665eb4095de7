// Element types of tensors: one enum, one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace amp {

// kUnknown is a value of its own ("not inferred yet"); it is never written to a file.
enum class DType : std::uint8_t {
  kUnknown,
  kFloat32,
  kFloat64,
  kFloat16,
  kUInt8,
  kInt32,
  kInt8,
  kInt64,
  kBool,
  kInt16,
  kUInt16,
  kUInt32,
  kUInt64,
  kBFloat16,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;   // "float32"; also the text in `dtype` attributes
  int bytes;               // of one element
  std::string_view numpy;  // array-interface code, "<f4"; empty where NumPy has none (bfloat16)
  std::optional<int> mxnet_code;
  bool is_float;
};

const DTypeInfo& InfoOf(DType dtype);

inline int BytesOf(DType dtype) { return InfoOf(dtype).bytes; }
inline bool IsFloat(DType dtype) { return InfoOf(dtype).is_float; }
inline bool IsLowPrecision(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }
inline bool IsFloat32OrBF16(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; }
inline bool IsKnown(DType dtype) { return dtype != DType::kUnknown; }
inline std::string NameOf(DType dtype) { return std::string(InfoOf(dtype).name); }

// Throws ArgumentError, naming the known dtypes, for a name that is none of them.
DType DTypeFromName(std::string_view name);
std::optional<DType> FindDType(std::string_view name);
std::optional<DType> DTypeFromMXNetCode(std::int64_t code);

// The wider of two float dtypes: float64 > float32 > {float16, bfloat16}; float16 with bfloat16 gives float32.
DType WidestFloat(DType a, DType b);

// Whether every value of the float dtype `from` exists in `to`.
inline bool IsLossless(DType from, DType to) {
  return IsFloat(from) && (from == to || (IsLowPrecision(from) && (to == DType::kFloat32 || to == DType::kFloat64)) ||
                           (from == DType::kFloat32 && to == DType::kFloat64));
}

}  // namespace amp
