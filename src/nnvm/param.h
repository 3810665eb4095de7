// Declarative parameter structs: a card lists its fields once; parsing, defaults, ranges, error messages, generated
// Python functions and documentation all come from that list.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnvm/attr_text.h"
#include "nnvm/error.h"

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

// The fields of parameter struct P. Defaults are those of the struct's own initialisers.
template <class P>
class ParamSchema {
 public:
  template <class T>
  ParamSchema& Required(std::string name, T P::*member, std::string doc) {
    return Add(std::move(name), member, std::move(doc), true);
  }
  template <class T>
  ParamSchema& Optional(std::string name, T P::*member, std::string doc) {
    return Add(std::move(name), member, std::move(doc), false);
  }
  ParamSchema& Ignored(std::string name) {
    infos_.push_back({name, "str", "None", "Accepted for compatibility; has no effect on a CPU.", true});
    fields_.push_back({[](std::string_view, P*) { return true; }, nullptr, nullptr, nullptr});
    return *this;
  }
  // Limits the last field to [low, high].
  ParamSchema& Range(double low, double high = std::numeric_limits<double>::infinity()) {
    fields_.back().check = [low, high, name = infos_.back().name](const P& p, const Field& f) -> std::string {
      const std::optional<double> value = f.number(p);
      if (!value || (*value >= low && *value <= high)) return "";
      return fmt::format("attribute {}: expected a value in [{}, {}], got {}", name, low, high, *value);
    };
    return *this;
  }
  // Limits the last (string) field to a list of words.
  ParamSchema& OneOf(std::vector<std::string> words) {
    infos_.back().type = "one of " + JoinSome(words, 99);
    fields_.back().check = [words, name = infos_.back().name](const P& p, const Field& f) -> std::string {
      const std::string value = f.text(p);
      for (const std::string& word : words) {
        if (word == value) return "";
      }
      return fmt::format("attribute {}: expected one of {}, got '{}'", name, JoinSome(words, 99), Quotable(value));
    };
    return *this;
  }

  const std::vector<FieldInfo>& infos() const { return infos_; }

  // Throws GraphError without the node's name; the caller adds it.
  P Parse(const AttrMap& attrs) const {
    P params{};
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const FieldInfo& info = infos_[i];
      const auto given = attrs.find(info.name);
      if (given == attrs.end()) {
        if (!info.default_text) Throw<GraphError>("attribute {} ({}) is missing", info.name, info.type);
      } else if (!fields_[i].parse(given->second, &params)) {
        Throw<GraphError>("attribute {}: expected {}, got '{}'", info.name, info.type, Quotable(given->second));
      }
      if (fields_[i].check) {
        const std::string problem = fields_[i].check(params, fields_[i]);
        if (!problem.empty()) throw GraphError(problem);
      }
    }
    RefuseUnknown(attrs);
    return params;
  }

 private:
  struct Field {
    std::function<bool(std::string_view, P*)> parse;
    std::function<std::string(const P&, const Field&)> check;
    std::function<std::optional<double>(const P&)> number;
    std::function<std::string(const P&)> text;
  };

  template <class T>
  static std::optional<double> AsNumber(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      (void)value;
      return std::nullopt;
    }
  }

  template <class T>
  ParamSchema& Add(std::string name, T P::*member, std::string doc, bool required) {
    const P defaults{};
    infos_.push_back({std::move(name), AttrTypeName(static_cast<const T*>(nullptr)),
                      required ? std::nullopt : std::optional<std::string>(PrintAttr(defaults.*member)),
                      std::move(doc)});
    fields_.push_back({[member](std::string_view text, P* p) { return ParseAttr(text, &(p->*member)); }, nullptr,
                       [member](const P& p) { return AsNumber(p.*member); },
                       [member](const P& p) { return PrintAttr(p.*member); }});
    return *this;
  }

  void RefuseUnknown(const AttrMap& attrs) const {
    for (const auto& [key, value] : attrs) {
      if (IsHiddenKey(key)) continue;
      std::vector<std::string> names;
      bool known = false;
      for (const FieldInfo& info : infos_) {
        known = known || info.name == key;
        names.push_back(info.name);
      }
      if (!known) Throw<GraphError>("unknown attribute '{}'{}", Quotable(key), NearMatches(key, names));
    }
  }

  std::vector<FieldInfo> infos_;
  std::vector<Field> fields_;
};

}  // namespace amp
