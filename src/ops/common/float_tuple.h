// Attributes that are several numbers: (0.5, 0.25), [1], 0.5.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "nnvm/attr_text.h"

namespace amp {

struct FloatTuple {
  std::vector<double> values;
};

inline bool ParseAttr(std::string_view text, FloatTuple* value) {
  constexpr std::string_view kOpening = "([", kClosing = ")]", kBetween = " ,";
  const bool opens = !text.empty() && kOpening.find(text.front()) != std::string_view::npos;
  const bool closes = !text.empty() && kClosing.find(text.back()) != std::string_view::npos;
  if (opens != closes || (opens && text.size() < 2)) return false;
  if (opens) text = text.substr(1, text.size() - 2);
  value->values.clear();
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return true;
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    double number = 0;
    if (!ParseAttr(text.substr(0, end), &number)) return false;
    value->values.push_back(number);
    text.remove_prefix(end);
  }
}

inline std::string PrintAttr(const FloatTuple& value) {
  std::string text;
  for (const double number : value.values) text += (text.empty() ? "" : ", ") + PrintAttr(number);
  return "(" + text + (value.values.size() == 1 ? ",)" : ")");
}

inline const char* AttrTypeName(const FloatTuple*) { return "tuple of float"; }

}  // namespace amp
