// Declarative parameter structs: an operator definition lists its fields once; parsing, defaults, ranges, error
// messages, generated Python functions and documentation all come from that list.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "nnvm/attr_text.h"

namespace amp {

using AttrMap = std::map<std::string, std::string>;

// Keys like "__shape__" belong to the graph, not to the operator; parameter parsing ignores them.
inline bool IsHiddenKey(std::string_view key) { return key.size() > 4 && key.starts_with("__") && key.ends_with("__"); }

struct FieldInfo {
  std::string name;
  std::string type;                         // "tuple of int"
  std::optional<std::string> default_text;  // nullopt: required
  std::string doc;
  bool ignored = false;  // accepted and kept in files, without effect here (workspace sizes, cuDNN switches)
};

// Throws GraphError without the node's name for attributes that are neither fields nor hidden.
void RefuseUnknownAttrs(const std::vector<FieldInfo>& fields, const AttrMap& attrs);

// How a field's text becomes its value and back. `value` points to a value of the field's type.
struct FieldType {
  bool (*parse)(std::string_view text, void* value);
  std::string (*print)(const void* value);
  std::optional<double> (*number)(const void* value);  // nullopt for what is no number
};

template <class T>
inline constexpr FieldType kFieldType = {
    [](std::string_view text, void* value) { return ParseAttr(text, static_cast<T*>(value)); },
    [](const void* value) { return PrintAttr(*static_cast<const T*>(value)); },
    []([[maybe_unused]] const void* value) -> std::optional<double> {
      if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<double>(*static_cast<const T*>(value));
      } else {
        return std::nullopt;
      }
    },
};

// The fields of a struct that only ParamSchema knows: whatever can be compiled once for all structs.
class FieldTable {
 public:
  // Compiled once: each file that registers operators would have them, too.
  FieldTable();
  FieldTable(const FieldTable&);
  FieldTable(FieldTable&&) noexcept;
  FieldTable& operator=(const FieldTable&);
  FieldTable& operator=(FieldTable&&) noexcept;
  ~FieldTable();

  // `place` gives the field's address in a struct. The field is the last one from now on.
  void Add(FieldInfo info, const FieldType* type, std::function<void*(void* params)> place);
  void AddIgnored(std::string name);
  void LimitLast(double low, double high);
  void LimitLast(std::vector<std::string> words);

  const std::vector<FieldInfo>& infos() const { return infos_; }

  // Throws GraphError without the node's name; the caller adds it.
  void Read(const AttrMap& attrs, void* params) const;

 private:
  struct Field {
    const FieldType* type = nullptr;  // null: ignored
    std::function<void*(void* params)> place;
    std::function<std::string(const FieldType& type, const void* value)> problem;  // of a value out of range, else ""
  };

  std::vector<FieldInfo> infos_;
  std::vector<Field> fields_;
};

// The fields of parameter struct P. Defaults are those of the struct's own initialisers.
template <class P>
class ParamSchema {
 public:
  template <class T>
  ParamSchema& Required(std::string name, T P::*member, std::string doc) {
    return Add({std::move(name), AttrTypeName(static_cast<const T*>(nullptr)), std::nullopt, std::move(doc)}, member);
  }
  template <class T>
  ParamSchema& Optional(std::string name, T P::*member, std::string doc) {
    const P defaults{};
    return Add(
        {std::move(name), AttrTypeName(static_cast<const T*>(nullptr)), PrintAttr(defaults.*member), std::move(doc)},
        member);
  }
  ParamSchema& Ignored(std::string name) {
    table_.AddIgnored(std::move(name));
    return *this;
  }
  // Limits the last field to [low, high].
  ParamSchema& Range(double low, double high = std::numeric_limits<double>::infinity()) {
    table_.LimitLast(low, high);
    return *this;
  }
  // Limits the last (string) field to a list of words.
  ParamSchema& OneOf(std::vector<std::string> words) {
    table_.LimitLast(std::move(words));
    return *this;
  }

  const std::vector<FieldInfo>& infos() const { return table_.infos(); }
  const FieldTable& table() const { return table_; }

  // Throws GraphError without the node's name; the caller adds it.
  P Parse(const AttrMap& attrs) const {
    P params{};
    table_.Read(attrs, &params);
    return params;
  }

 private:
  template <class T>
  ParamSchema& Add(FieldInfo info, T P::*member) {
    table_.Add(std::move(info), &kFieldType<T>, [member](void* p) -> void* { return &(static_cast<P*>(p)->*member); });
    return *this;
  }

  FieldTable table_;
};

}  // namespace amp
