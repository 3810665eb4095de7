#include "nnvm/dtype.h"

#include <array>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr std::array<DTypeInfo, 14> kTable{{
    {DType::kUnknown, "unknown", 0, "", std::nullopt, false},
    {DType::kFloat32, "float32", 4, "<f4", 0, true},
    {DType::kFloat64, "float64", 8, "<f8", 1, true},
    {DType::kFloat16, "float16", 2, "<f2", 2, true},
    {DType::kUInt8, "uint8", 1, "|u1", 3, false},
    {DType::kInt32, "int32", 4, "<i4", 4, false},
    {DType::kInt8, "int8", 1, "|i1", 5, false},
    {DType::kInt64, "int64", 8, "<i8", 6, false},
    {DType::kBool, "bool", 1, "|b1", 7, false},
    {DType::kInt16, "int16", 2, "<i2", 8, false},
    {DType::kUInt16, "uint16", 2, "<u2", 9, false},
    {DType::kUInt32, "uint32", 4, "<u4", 10, false},
    {DType::kUInt64, "uint64", 8, "<u8", 11, false},
    {DType::kBFloat16, "bfloat16", 2, "", 12, true},
}};

}  // namespace

const DTypeInfo& InfoOf(DType dtype) { return kTable[static_cast<std::size_t>(dtype)]; }

std::optional<DType> FindDType(std::string_view name) {
  for (const DTypeInfo& info : kTable) {
    if (info.name == name && info.dtype != DType::kUnknown) return info.dtype;
  }
  return std::nullopt;
}

DType DTypeFromName(std::string_view name) {
  if (auto found = FindDType(name)) return *found;
  std::string known;
  for (const DTypeInfo& info : kTable) {
    if (info.dtype != DType::kUnknown) known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  Throw<ArgumentError>("unknown dtype '{}'; expected one of {}", name, known);
}

std::optional<DType> DTypeFromMXNetCode(std::int64_t code) {
  for (const DTypeInfo& info : kTable) {
    if (info.mxnet_code && *info.mxnet_code == code) return info.dtype;
  }
  return std::nullopt;
}

DType WidestFloat(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kFloat64 || b == DType::kFloat64) return DType::kFloat64;
  return DType::kFloat32;
}

}  // namespace amp
