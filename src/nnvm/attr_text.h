// The text grammar of operator attributes (that of MXNet's parameter structs): parsing and canonical printing.
//
//   bool      True true 1 False false 0
//   tuple     (1, 1)  [1,1]  (2,)  ()  3 (a 1-tuple), trailing comma and Python 2's "2L" allowed; None is ()
//   optional  None, or the value
//
// Parse functions return false for text outside of the grammar or the type's range; they never throw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnvm/dtype.h"

namespace amp {

using IntTuple = std::vector<std::int64_t>;
using OptionalIntTuple = std::vector<std::optional<std::int64_t>>;  // elements may be None

bool ParseAttr(std::string_view text, bool* value);
bool ParseAttr(std::string_view text, std::int64_t* value);
bool ParseAttr(std::string_view text, double* value);
bool ParseAttr(std::string_view text, std::string* value);
bool ParseAttr(std::string_view text, IntTuple* value);
bool ParseAttr(std::string_view text, OptionalIntTuple* value);
bool ParseAttr(std::string_view text, DType* value);

template <class T>
bool ParseAttr(std::string_view text, std::optional<T>* value) {
  if (text == "None") {
    value->reset();
    return true;
  }
  T inner{};
  if (!ParseAttr(text, &inner)) return false;
  *value = std::move(inner);
  return true;
}

std::string PrintAttr(bool value);
std::string PrintAttr(std::int64_t value);
std::string PrintAttr(double value);  // shortest text that reads back as the same double
std::string PrintAttr(const std::string& value);
std::string PrintAttr(const IntTuple& value);
std::string PrintAttr(const OptionalIntTuple& value);
std::string PrintAttr(DType value);

template <class T>
std::string PrintAttr(const std::optional<T>& value) {
  return value ? PrintAttr(*value) : "None";
}

// What a value of the type looks like, for error messages and generated documentation.
inline const char* AttrTypeName(const bool*) { return "bool"; }
inline const char* AttrTypeName(const std::int64_t*) { return "int"; }
inline const char* AttrTypeName(const double*) { return "float"; }
inline const char* AttrTypeName(const std::string*) { return "str"; }
inline const char* AttrTypeName(const IntTuple*) { return "tuple of int"; }
inline const char* AttrTypeName(const OptionalIntTuple*) { return "tuple of int or None"; }
inline const char* AttrTypeName(const DType*) { return "dtype"; }
template <class T>
std::string AttrTypeName(const std::optional<T>*) {
  return std::string(AttrTypeName(static_cast<const T*>(nullptr))) + " or None";
}

}  // namespace amp
